"""The pages, made of plain data by htpy, which escapes every text in them."""
