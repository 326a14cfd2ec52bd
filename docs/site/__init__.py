"""The documents as a site: plain Markdown to static pages that work from a folder, without a server."""
