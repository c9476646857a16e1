"""Generators: each can be loaded with its settings, on this host."""

from tasks_app.generators import registry
from tasks_app.maintenance.doctor.finding import Finding, ok, one_line, problem
from tasks_app.models import Generator


def generators_load() -> Finding:
    """Build the adapter of every offered generator."""
    generators = list(Generator.objects.filter(enabled=True))
    broken = [f"{one.name}: {fault}" for one in generators if (fault := _fault(one))]
    if broken:
        return problem(
            f"Generators that are not offered, as they cannot be loaded here: {'; '.join(broken)}",
            "Correct their settings in the admin, or install what is missing into .venv.",
        )
    return ok(f"{len(generators)} generators can be loaded.")


def _fault(generator: Generator) -> str:
    try:
        adapter = registry.build(generator.adapter, generator.settings)
        adapter.parameter_schema(generator.settings)
    except (Exception, SystemExit) as error:
        return one_line(error)
    return ""
