"""The root of the errors that the project raises on purpose, and what their messages share."""


class GesscaleError(Exception):
    """Base of every error that is raised on purpose; a command exits 1 on it."""


class InputError(GesscaleError):
    """Something the user gave cannot be used as it is; a command exits 2 on it."""


_LONGEST_PLACE = 600


def located(source: str, place: str, problem: str) -> str:
    """Say where in a file something is wrong, on one line whatever the file holds."""
    said = f", {place[:_LONGEST_PLACE]}: {problem}" if place else f": {problem}"
    return source + (said if said.isprintable() else repr(said)[1:-1])


def cause_of(error: Exception) -> str:
    """Return why a file cannot be read or written; without its path and number, which the system's text repeats."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def unwritable(path: object, error: Exception) -> str:
    """Say that a file cannot be written, and why."""
    return f"{path}: expected a file that can be written, got: {cause_of(error)}; choose another path"
