"""What a journal needs of a database: transactions that last, one writer at a time, several processes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol


class Session(Protocol):
    """SQL within one transaction; parameters stand as ? in it."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def change(self, sql: str, *rows: Sequence[Any]) -> None:
        """Once for every row of parameters; without any, once."""
        ...


class Store(ABC):
    """One open database. Threads may share it. for_update: what follows a SELECT of rows that are changed next."""

    for_update: ClassVar[str]

    @abstractmethod
    def transaction(self, write: bool = True) -> AbstractContextManager[Session]:
        """What is done in the block is there, and lasts, when it ends well; else nothing of it."""

    @abstractmethod
    def has_table(self, session: Session, name: str) -> bool: ...

    @abstractmethod
    def is_foreign(self, session: Session) -> bool:
        """Whether the database is a file of somebody else, in which no journal should be begun."""

    @abstractmethod
    def lock(self, session: Session) -> None:
        """Keep other processes from making the tables at the same time, until the transaction ends."""

    @abstractmethod
    def close(self) -> None: ...
