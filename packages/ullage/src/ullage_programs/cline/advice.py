"""What makes Cline's requests smaller: nothing is known that is not known of all."""

from __future__ import annotations

from ullage_programs.advice import ProgramAdvice

ADVICE = ProgramAdvice({})
