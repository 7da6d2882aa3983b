package sim

// helpText lists what the simulator takes; the options and commands are those of 2026.10 in its own words.
const helpText = `Usage: agent [options] [command] [prompt...]

A simulator of the Cursor Agent, part of Substrat. It follows scripts in the prompt:
<<SCRIPT [{"shell":"ls"},{"text":"Done."}] SCRIPT>>

Options:
  -v, --version                Output the version number
  --api-key <key>              API key (env: CURSOR_API_KEY)
  -H, --header <header>        Extra request header, "Name: Value" (repeatable)
  -e, --endpoint <url>         API endpoint (env: CURSOR_API_ENDPOINT)
  -p, --print                  Print the answer and exit
  --output-format <format>     text, json or stream-json (default: "text")
  --stream-partial-output      Stream text as it is made (with stream-json)
  --mode <mode>                plan or ask
  --plan                       Same as --mode plan
  --resume [chatId]            Resume a chat
  --continue                   Resume the latest chat of this workspace
  --model <model>              Model to use
  --list-models                List the models and exit
  -f, --force                  Allow all that is not denied
  --yolo                       Same as --force
  --auto-review                Accepted, without effect here
  --sandbox <mode>             Accepted, without effect here
  --approve-mcps               Approve all MCP servers
  --trust                      Trust the workspace
  --workspace <path>           The workspace (default: the current directory)
  --add-dir <path>             Accepted, without effect here
  --plugin-dir <path>          Accepted, without effect here
  -w, --worktree [name]        Accepted, without effect here
  --worktree-base <branch>     Accepted, without effect here
  --skip-worktree-setup        Accepted, without effect here
  -h, --help                   This text

Commands:
  login                        The simulator has no account
  logout                       The simulator has no account
  mcp                          list, list-tools, enable, disable
  status|whoami                Authentication status
  models                       List the models
  about                        Version and environment
  create-chat                  Make an empty chat and print its id
  ls                           Choose a chat (needs a terminal)
  resume                       Resume the latest chat
  agent [prompt...]            Start the agent
  help                         This text
`
