"""Section 6 of the paper: its learners, studies and claims, and the report on them."""
