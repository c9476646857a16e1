"""What is used of unfold, which has no types: to a type checker it is what it replaces."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import unfold.decorators
import unfold.utils
from django.utils.functional import Promise

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin, TabularInline
    from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
    from django.forms import Select
else:
    from unfold.admin import ModelAdmin, TabularInline
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
    from unfold.widgets import UnfoldAdminSelectWidget as Select

__all__ = [
    "AdminPasswordChangeForm",
    "ModelAdmin",
    "Select",
    "TabularInline",
    "UserChangeForm",
    "UserCreationForm",
    "coloured",
    "display",
]

F = TypeVar("F", bound=Callable[..., Any])


def display(
    description: str | Promise, *, label: Mapping[Any, str] | None = None
) -> Callable[[F], F]:
    """Name a column; with ``label``, show its values as labels in these colours."""
    dressed: Any = unfold.decorators.display
    colours = None if label is None else dict(label)

    def named(function: F) -> F:
        decorated: F = dressed(function, description=description, label=colours)
        return decorated

    return named


def coloured(value: str, word: str, colours: Mapping[str, str]) -> str:
    """Return a word as a label in the colour of its value."""
    dressed: Any = unfold.utils.display_for_label
    found: str = dressed((value, word), "–", dict(colours))  # safe text
    return found
