defmodule Board.Counter do
  @moduledoc "A view that counts what its user does, and sees what others do."
  use Phoenix.LiveView

  def mount(_params, session, socket) do
    if connected?(socket), do: Phoenix.PubSub.subscribe(Board.PubSub, "counters")
    {:ok, assign(socket, count: 0, others: 0, names: [], user: session["user"] || "nobody")}
  end

  def render(assigns) do
    ~H"""
    <h1>Hello <%= @user %></h1>
    <button phx-click="more" phx-value-by="2">count <%= @count %>, others <%= @others %></button>
    <form phx-submit="name"><input name="name" /></form>
    <ul><li :for={name <- @names}><%= name %></li></ul>
    """
  end

  def handle_event("more", %{"by" => by}, socket) do
    Phoenix.PubSub.broadcast_from(Board.PubSub, self(), "counters", :counted)
    {:noreply, update(socket, :count, &(&1 + String.to_integer(by)))}
  end

  def handle_event("name", %{"name" => name}, socket), do: {:noreply, update(socket, :names, &(&1 ++ [name]))}

  def handle_info(:counted, socket), do: {:noreply, update(socket, :others, &(&1 + 1))}
end

defmodule Board.Room do
  @moduledoc "A channel: who is in it hears what is said."
  use Phoenix.Channel

  def join("room:locked", _params, _socket), do: {:error, %{reason: "locked"}}
  def join("room:" <> _, _params, socket), do: {:ok, %{hello: "you"}, socket}

  def handle_in("say", %{"text" => text}, socket) do
    broadcast!(socket, "said", %{text: text})
    {:reply, {:ok, %{length: String.length(text)}}, socket}
  end

  def handle_in("bytes", {:binary, bytes}, socket) do
    {:reply, {:ok, {:binary, :crypto.hash(:sha256, bytes)}}, socket}
  end
end

defmodule Board.Socket do
  use Phoenix.Socket
  channel "room:*", Board.Room
  def connect(_params, socket, _info), do: {:ok, socket}
  def id(_socket), do: nil
end

defmodule Board.Layout do
  use Phoenix.Component

  def root(assigns) do
    ~H"""
    <html><head><meta name="csrf-token" content={Plug.CSRFProtection.get_csrf_token()} /></head><body><%= @inner_content %></body></html>
    """
  end
end

defmodule Board.Errors do
  def render(template, _assigns), do: %{error: Phoenix.Controller.status_message_from_template(template)}
end

defmodule Board.Pages do
  use Phoenix.Controller, formats: [:json]
  alias Board.{Native, Notes}

  def hello(conn, _), do: text(conn, "hello")

  # A password is kept as bcrypt's hash of it, in the session.
  def register(conn, %{"user" => user, "password" => password}) do
    conn |> put_session(:user, user) |> put_session(:hash, Bcrypt.hash_pwd_salt(password)) |> json(%{user: user})
  end

  def login(conn, %{"password" => password}) do
    hash = get_session(conn, :hash)
    json(conn, %{user: get_session(conn, :user), known: hash != nil and Bcrypt.verify_pass(password, hash)})
  end

  def add(conn, %{"author" => author, "text" => text}) do
    {:ok, [[id]]} = Notes.add(author, text)
    conn |> put_status(201) |> json(%{id: id})
  end

  def notes(conn, %{"author" => author}) do
    {:ok, rows} = Notes.all(author)
    json(conn, for([id, text] <- rows, do: %{id: id, text: text}))
  end

  def query(conn, %{"sql" => sql}) do
    case Notes.query(sql) do
      {:ok, rows} -> json(conn, rows)
      {:error, reason} -> conn |> put_status(422) |> json(%{error: reason})
    end
  end

  def words(conn, %{"text" => text}), do: json(conn, Native.words(text))

  def native(conn, _) do
    counter = Native.counter()
    sums = for number <- 1..100, do: Native.add(counter, number)
    :ok = Native.shout("quiet")
    shouted = receive do: ({:shouted, text} -> text), after: (5000 -> "nothing")
    failures = for how <- ["error", "atom", "panic"], do: failure(fn -> Native.fail(how) end)
    json(conn, %{primes: length(Native.primes(100_000)), sum: List.last(sums), shouted: shouted, failures: failures, wrong: failure(fn -> Native.words(1) end)})
  end

  defp failure(function) do
    inspect(function.())
  rescue
    error -> inspect(error.__struct__) <> ": " <> Exception.message(error)
  end

  # Parts of 64 KB, each sent on its own.
  def stream(conn, %{"parts" => parts}) do
    part = String.duplicate("x", 65536)

    Enum.reduce(1..String.to_integer(parts), send_chunked(conn, 200), fn _, conn ->
      {:ok, conn} = chunk(conn, part)
      conn
    end)
  end

  def file(conn, _), do: send_file(conn, 200, Path.join(System.fetch_env!("WORK"), "large"))

  def upload(conn, %{"file" => %Plug.Upload{path: path, filename: name}}) do
    json(conn, %{name: name, sha256: Base.encode16(:crypto.hash(:sha256, File.read!(path)), case: :lower)})
  end

  def crash(_conn, _), do: raise("on purpose")
end

defmodule Board.Router do
  use Phoenix.Router
  import Phoenix.LiveView.Router

  pipeline :browser do
    plug :fetch_session
    plug :put_root_layout, html: {Board.Layout, :root}
    plug :protect_from_forgery
  end

  pipeline :api do
    plug :accepts, ["json"]
    plug :fetch_session
  end

  scope "/", Board do
    get "/", Pages, :hello
  end

  scope "/live", Board do
    pipe_through :browser
    live "/", Counter
  end

  scope "/api", Board do
    pipe_through :api
    post "/register", Pages, :register
    post "/login", Pages, :login
    post "/notes", Pages, :add
    get "/notes/:author", Pages, :notes
    post "/query", Pages, :query
    post "/words", Pages, :words
    get "/native", Pages, :native
    get "/stream/:parts", Pages, :stream
    get "/file", Pages, :file
    post "/upload", Pages, :upload
    get "/crash", Pages, :crash
  end
end

defmodule Board.Plugs do
  @moduledoc "What both endpoints do with a request."
  defmacro __using__(_) do
    quote do
      use Phoenix.Endpoint, otp_app: :board

      @session [store: :cookie, key: "_board", signing_salt: "salt of sessions"]
      socket "/live", Phoenix.LiveView.Socket, websocket: [connect_info: [session: @session]]
      socket "/socket", Board.Socket, websocket: [compress: true], longpoll: true

      plug Plug.RequestId
      plug Plug.Parsers, parsers: [:urlencoded, :multipart, :json], json_decoder: Jason, length: 50_000_000
      plug Plug.MethodOverride
      plug Plug.Head
      plug Plug.Session, @session
      plug Board.Router
    end
  end
end

defmodule Board.OnBandit do
  use Board.Plugs
end

defmodule Board.OnCowboy do
  use Board.Plugs
end
