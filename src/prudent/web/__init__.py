"""One case in a browser, and the same as a JSON API: `prudent serve MODEL`. Needs the extra `web`."""

from prudent.web.app import create_app as create_app
from prudent.web.limits import Limits as Limits
from prudent.web.security import Access as Access
from prudent.web.service import Service as Service
from prudent.web.serving import Serving as Serving
from prudent.web.serving import serve as serve
