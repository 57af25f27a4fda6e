"""``python -m kinlearn``: the same as the ``kinlearn`` command."""

import sys


def main() -> None:
    """Run the command line, or say in one sentence what is missing."""
    try:
        from kinlearn.cli import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit(
            f"kinlearn's command line needs {error.name}, which is not installed: "
            'run pip install "kinlearn[cli,plot]".'
        )


if __name__ == "__main__":
    main()
