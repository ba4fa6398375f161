"""`python -m headstart`: the command line."""

from headstart.cli import app

if __name__ == "__main__":
    app(prog_name="headstart")
