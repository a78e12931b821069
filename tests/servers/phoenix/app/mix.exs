defmodule Board.MixProject do
  use Mix.Project

  # Versions that run with Elixir 1.14 and OTP 25, which is what Debian 12 has: each exactly, as there is no list of checksums.
  @packages [
    phoenix: "1.7.14",
    phoenix_live_view: "0.20.17",
    phoenix_html: "4.1.1",
    phoenix_template: "1.0.4",
    phoenix_pubsub: "2.1.3",
    plug: "1.16.1",
    plug_crypto: "2.1.0",
    bandit: "1.5.7",
    thousand_island: "1.3.5",
    hpax: "1.0.0",
    websock: "0.5.3",
    websock_adapter: "0.5.7",
    plug_cowboy: "2.7.2",
    cowboy: "2.12.0",
    cowlib: "2.13.0",
    ranch: "1.8.0",
    cowboy_telemetry: "0.4.0",
    telemetry: "1.2.1",
    mime: "2.0.6",
    castore: "1.0.8",
    jason: "1.4.4",
    bcrypt_elixir: "3.1.0",
    comeonin: "5.4.0",
    elixir_make: "0.8.4",
    exqlite: "0.23.0",
    db_connection: "2.7.0",
    cc_precompiler: "0.1.10"
  ]

  def project do
    [
      app: :board,
      version: "1.0.0",
      elixir: "~> 1.14",
      start_permanent: true,
      deps: @packages,
      # The emulator is the one that `erl` of the path starts.
      releases: [board: [include_erts: false]]
    ]
  end

  def application, do: [mod: {Board.Application, []}, extra_applications: [:logger, :crypto, :ssl]]
end
