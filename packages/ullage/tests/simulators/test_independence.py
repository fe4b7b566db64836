from tests.processes import run_python


def test_importing_the_simulators_loads_nothing_of_ullage() -> None:
    code = "import sys, ullage_simulators.command; print([name for name in sys.modules if name.startswith('ullage.')])"
    done = run_python("-c", code, check=True)
    assert done.stdout.strip() == "[]"
