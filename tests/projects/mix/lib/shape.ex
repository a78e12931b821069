defprotocol Shape do
  @doc "The area."
  @fallback_to_any true
  def area(shape)
end

defmodule Square do
  @derive {Inspect, only: [:side]}
  defstruct side: 1, label: nil

  defimpl Shape do
    def area(%Square{side: side}), do: side * side
  end
end

defmodule Circle do
  @enforce_keys [:radius]
  defstruct [:radius]
end

defimpl Shape, for: Circle do
  def area(circle), do: Float.round(:math.pi() * circle.radius ** 2, 3)
end

defimpl Shape, for: Any do
  def area(_), do: 0
end
