"""Finds the operator's callable from the words in a generator row's settings."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from tasks_app.generators.errors import InvalidSettings

_FORM: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def load(settings: Mapping[str, Any]) -> Callable[..., Any]:
    """Return what ``settings["callable"]`` names, imported. Raises ``InvalidSettings``."""
    path = settings.get("callable")
    if not isinstance(path, str) or not path:
        raise InvalidSettings('Set "callable" to the function to call: "package.module:function".')
    if not _FORM.fullmatch(path):
        raise InvalidSettings(f'"callable" is {path!r}; write it as "package.module:function".')
    module_name, _, attribute = path.partition(":")
    found = _attribute(_module(module_name), module_name, attribute)
    if not callable(found):
        raise InvalidSettings(f"{path!r} is a {type(found).__name__}; it must be callable.")
    return found  # type: ignore[no-any-return]  # narrowed to a bare callable above


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidSettings(
                f"The module {name!r} cannot be found; is it installed where the workers run?"
            ) from error
        raise InvalidSettings(
            f"The module {name!r} needs {error.name!r}, which is not installed."
        ) from error
    except KeyboardInterrupt:
        raise
    except SystemExit as error:
        raise InvalidSettings(
            f"The module {name!r} ends the process when it is imported."
        ) from error
    except BaseException as error:
        # The operator's module may fail in any way while it is imported; say which.
        raise InvalidSettings(
            f"The module {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _attribute(module: Any, module_name: str, path: str) -> Any:
    found = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except Exception as error:  # modules and classes may answer with code of their own
            raise InvalidSettings(f"The module {module_name!r} has no {path!r}.") from error
    return found
