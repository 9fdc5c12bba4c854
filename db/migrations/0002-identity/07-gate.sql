-- What the definer functions of longhaul_gate need beside what they had.

