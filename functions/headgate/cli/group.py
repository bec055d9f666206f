"""The command group that turns Headgate's errors into one plain message and exit code 1."""

from typing import Any

import typer
from typer.core import TyperGroup

from headgate.errors import HeadgateError
from headgate.settings import InvalidSetting


class HeadgateGroup(TyperGroup):
    """Use as `typer.Typer(cls=HeadgateGroup)` at the root: it covers every command below."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (HeadgateError, InvalidSetting) as error:
            typer.secho("Error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from error
