"""Something about a column that a person should look at, with an option that acts on it."""

from dataclasses import dataclass

from prudent.table.column_notes import option


@dataclass(frozen=True)
class Finding:
    """Something about one column: a sentence, and the option of the command line that acts on it."""

    column: str
    what: str
    sentence: str
    option: tuple[str, str]

    @staticmethod
    def to_ignore(column: str, what: str, seen: str, certain: bool = True) -> "Finding":
        """seen: a verb phrase; the way out is to leave the column out, `certain` or if a person agrees."""
        way_out = f"{'' if certain else 'if so, '}leave it out with {option('--ignore', column)}"
        return Finding(column, what, f"Column '{column}' {seen}: {way_out}.", ("--ignore", column))
