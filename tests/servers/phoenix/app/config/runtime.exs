import Config

port = String.to_integer(System.fetch_env!("PORT"))
work = System.fetch_env!("WORK")
keys = [certfile: Path.join(work, "cert.pem"), keyfile: Path.join(work, "key.pem")]
loopback = {127, 0, 0, 1}

config :board, database: Path.join(work, "notes.db")

config :board, Board.OnBandit,
  http: [ip: loopback, port: port],
  https: [ip: loopback, port: port + 1] ++ keys

config :board, Board.OnCowboy,
  http: [ip: loopback, port: port + 2],
  https: [ip: loopback, port: port + 3, cipher_suite: :strong] ++ keys
