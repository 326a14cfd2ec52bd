"""From the records of a hospital to one row per decision: recipes for OMOP, FHIR and MEDS, to copy and change."""
