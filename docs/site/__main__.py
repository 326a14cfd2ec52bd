"""Write the site to docs/_site: python -m docs.site [FOLDER]. Links that lead nowhere are refused."""

import sys
from pathlib import Path

from docs.reference import write_reference
from docs.site.building import build

SITE = Path(__file__).parent.parent / "_site"


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    write_reference(folder / "api")
    broken = build(folder)
    for problem in broken:
        print(problem, file=sys.stderr)
    print(f"{folder / 'index.html'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
