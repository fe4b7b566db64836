.DEFAULT_GOAL := help
.PHONY: help site check test second sweeps turn fast coverage bench clients local sdk-news fix attack

help:  ## list the targets, with their times on two idle cores
	@awk -F ':  ## ' '/^[a-z-]+:  ## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

site:  ## ~30 s: the documentation as a site, in site/; ARGS=serve shows it
	@NO_MKDOCS_2_WARNING=1 uv run --isolated --only-group docs mkdocs $(or $(ARGS),build --strict)

check:  ## 2 min, later 1: lint, format, types, leftovers, house rules, plainness, budget
	@uv run python -m scripts.check

test:  ## 3 min: the first tier of tests; one folder, about 15 s: uv run pytest packages/ullage/tests/meter
	@uv run pytest

second:  ## 12 min: the second tier as .ci/run has it: what starts programs or is slow, and a third of the sweeps
	@PYTHONHASHSEED=0 HYPOTHESIS_PROFILE=sweep SWEEPS=$$(uv run python -m scripts.turn) uv run pytest -m second $(ARGS)

sweeps:  ## ~30 min: all sweeps, and property tests in full; each night, and before a release
	@PYTHONHASHSEED=0 HYPOTHESIS_PROFILE=sweep uv run pytest -m "sweep or property" $(ARGS)

turn:  ## 1 s: take the next turn of the sweeps; commit it last before a landing (tests/README.md)
	@uv run python -m scripts.turn --take

fast:  ## 30 s: tests of the functional core, with fewer random examples
	@HYPOTHESIS_PROFILE=few uv run pytest -m "not slow and not program and not sweep" $(addprefix packages/ullage/tests/,types turns tokens \
	  test_reasoning.py codec meter context) packages/ullage-agent/tests/loop

coverage:  ## ~3 min: how much of each package of the functional core its own tests run, and the lines they leave out
	@for package in tokens codec meter context turns; do \
	  uv run --with coverage coverage run --branch --source=packages/ullage/src/ullage/$$package -m pytest -q -n 0 packages/ullage/tests/$$package && \
	  uv run --with coverage coverage report --skip-covered --show-missing --fail-under=95 || exit 1; done

fix:  ## 1 s: format, and mend what the linter can
	@uv run ruff check --fix
	@uv run ruff format

attack:  ## ~20 min: the hostile provider at full size, then all other attacks; ARGS: see tests/hostile/full_size.py
	@uv run pytest -n 4 -m program tests/hostile/full_size.py $(ARGS)
	@uv run pytest -m second tests/hostile tests/tools tests/relay packages/ullage-server/tests/server/test_guard.py packages/ullage-server/tests/server/test_connections.py

bench:  ## ~2 min: the quick benchmarks, beside their peers; each other one: uv run python -m bench.NAME; their tests: uv run pytest tests/bench
	@for name in reading startup context_command; do uv run python -m bench.$$name || exit 1; done

clients:  ## ~15 min: real clients from npm and PyPI against the simulators; ARGS='--client codex --scenario resume' and others
	@uv run python -m bench.clients $(ARGS)

local:  ## ~6 min: how close the estimates are on a real llama-server; fetches 100 MB into bench/out
	@mkdir -p bench/out && uv run --with numpy --with gguf python -m bench.record bench/out bench/out/sessions.jsonl.gz
	@uv run python -m bench.accuracy bench/out/sessions.jsonl.gz

sdk-news:  ## ~1 min: what the newest SDKs of OpenAI, Anthropic and Google have and the codecs do not know
	@uv run --no-project --isolated --with openai --with anthropic --with google-genai python -m scripts.sdk_news
