import Config

config :phoenix, :json_library, Jason
config :bcrypt_elixir, log_rounds: 6
config :logger, level: :warning

for {endpoint, adapter} <- [{Board.OnBandit, Bandit.PhoenixAdapter}, {Board.OnCowboy, Phoenix.Endpoint.Cowboy2Adapter}] do
  config :board, endpoint,
    adapter: adapter,
    pubsub_server: Board.PubSub,
    secret_key_base: String.duplicate("not a secret ", 6),
    live_view: [signing_salt: "salt of views"],
    render_errors: [formats: [json: Board.Errors], layout: false],
    check_origin: false,
    server: true
end
