import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from tasks_app.generators import registry
from tasks_app.generators.base import Adapter
from tasks_app.generators.errors import InvalidSettings


def test_names_are_sorted() -> None:
    assert registry.names() == sorted(registry.names())
    assert {"python", "sketch"} <= set(registry.names())


@pytest.mark.parametrize("name", registry.names())
def test_every_adapter_loads_and_knows_its_name(name: str) -> None:
    found = registry.adapter_class(name)
    assert issubclass(found, Adapter)
    assert found.name == name
    assert found.kind in ("image", "video")
    Draft202012Validator.check_schema(found().parameter_schema({}))


def test_unknown_adapter_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match=r"no adapter 'dall-x'; there are: .*sketch"):
        registry.adapter_class("dall-x")
    with pytest.raises(registry.UnknownAdapter):
        registry.build("dall-x", {})


def test_build_checks_settings() -> None:
    assert registry.build("sketch", {}).name == "sketch"
    with pytest.raises(InvalidSettings):
        registry.build("python", {})


def test_registry_is_lazy_and_adapters_import_no_django() -> None:
    code = (
        "import sys\n"
        "from tasks_app.generators import registry\n"
        "assert 'numpy' not in sys.modules\n"
        "for name in registry.names(): registry.adapter_class(name)\n"
        "assert 'django' not in sys.modules and 'redis' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
