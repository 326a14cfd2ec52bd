"""CDS Hooks 2.0: a card in a hospital's own system. A mapping file says which FHIR records the model's columns are."""

from prudent.web.hooks.mapping import HookMapping as HookMapping
from prudent.web.hooks.router import Advise as Advise
from prudent.web.hooks.router import router as router
