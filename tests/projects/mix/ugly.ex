defmodule Ugly do
  def f( x ),do: x+1
  def  g(list) do  for  x<-list , x>1 do {x , %{ "k"=>x } } end end
end
