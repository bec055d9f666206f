"""`headgate`: the list of its commands.

Command modules import what they need inside their functions, so that `headgate --help` is quick.
"""

import typer

from headgate.cli import catalog, demo, explain, index, recipient, serve, status
from headgate.cli.group import HeadgateGroup

app = typer.Typer(
    name="headgate",
    cls=HeadgateGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
    help="Share live Delta tables with any Delta Sharing client, without a server to keep.",
)
app.add_typer(catalog.app, name="catalog")
app.add_typer(recipient.app, name="recipient")
app.command()(index.index)
app.command()(serve.serve)
app.command()(demo.demo)
app.command()(status.status)
app.command()(explain.explain)

if __name__ == "__main__":
    app()
