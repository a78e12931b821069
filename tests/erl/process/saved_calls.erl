%% process_flag(save_calls, N) and process_info(P, last_calls).
-module(saved_calls).
-compile([export_all,nowarn_export_all]).
l() -> {last_calls,L}=process_info(self(),last_calls), L.
w(N,F) -> {_,M}=spawn_monitor(fun() -> process_flag(save_calls,N), F(), exit(l()) end), receive {'DOWN',M,_,_,R} -> R end.
loc(0) -> 0; loc(N) -> loc(N-1).
ext(X) -> X.
main() ->
  logger:set_primary_config(level, none),
  t:c(flags, fun() -> [process_flag(save_calls,10), process_flag(save_calls,5), l(), process_flag(save_calls,0), l()] end),
  t:c(local, fun() -> w(20, fun() -> loc(5) end) end),
  t:c(ext, fun() -> w(20, fun() -> saved_calls:ext(1), X=saved_calls:ext(2), X end) end),
  t:c(extlast, fun() -> w(20, fun() -> saved_calls:ext(1), saved_calls:ext(3) end) end),
  t:c(bifs, fun() -> w(20, fun() -> atom_to_list(a), erlang:md5("x"), R=length(t:id([a])), R end) end),
  t:c(guardbif, fun() -> w(20, fun() -> A=t:id([1]), hd(A)+length(A)+element(1,t:id({1})) end) end),
  t:c(apply, fun() -> w(20, fun() -> apply(saved_calls,ext,[1]), apply(t:id(saved_calls),t:id(ext),[1]), M=t:id(saved_calls), M:ext(1), apply(fun saved_calls:ext/1,[2]), (t:id(fun saved_calls:ext/1))(3) end) end),
  t:c(funs, fun() -> w(20, fun() -> (t:id(fun(X)->X end))(1), apply(t:id(fun ext/1),[1]), lists:map(fun ext/1,[1,2]) end) end),
  t:c(applybif, fun() -> w(20, fun() -> apply(t:id(erlang),t:id(atom_to_list),[a]), (t:id(fun erlang:atom_to_list/1))(b), M=t:id(erlang), M:md5("a") end) end),
  t:c(applyraise, fun() -> [w(20, fun() -> (catch raise(t:id(F), A)) end) || {F, A} <- [{exit, [x]}, {throw, [x]}, {error, [x]}, {atom_to_list, [a]}]] end),
  t:c(send, fun() -> w(20, fun() -> self()!a, erlang:send(self(),b), self()!c, receive a -> ok end, receive X->X end, receive after 0 -> ok end, receive after 5 -> ok end, receive zz -> ok after 1 -> ok end end) end),
  t:c(wrap, fun() -> w(3, fun() -> self()!a, erlang:send(self(),b), saved_calls:ext(1), saved_calls:ext(2), receive a -> ok end end) end),
  t:c(one, fun() -> w(1, fun() -> saved_calls:ext(1) end) end),
  t:c(undef, fun() -> w(20, fun() -> catch nomod:nof(1) end) end),
  t:c(caught, fun() -> w(20, fun() -> catch saved_calls:err(1), catch error(x), catch throw(y), try exit(a) catch _:_ -> ok end end) end),
  t:c(erlfun, fun() -> w(20, fun() -> erlang:apply(t:id(fun saved_calls:ext/1),[1]), erlang:yield(), erlang:apply(t:id(saved_calls),t:id(ext),[1]) end) end),
  t:c(many, fun() -> w(5, fun() -> [saved_calls:ext(I)||I<-lists:seq(1,100000)] end) end),
  t:c(sens, fun() -> w(20, fun() -> saved_calls:ext(0), process_flag(sensitive,true), saved_calls:ext(1), ext(2), process_flag(sensitive,false), saved_calls:ext(4) end) end),
  t:c(sens2, fun() -> w(20, fun() -> saved_calls:ext(0), process_flag(sensitive,true), exit(l()) end) end),
  t:c(reset, fun() -> w(20, fun() -> saved_calls:ext(0), process_flag(save_calls,3), saved_calls:ext(9) end) end),
  t:c(hib, fun() -> P=spawn(fun() -> process_flag(save_calls,6), erlang:hibernate(saved_calls,hloop,[]) end), timer:sleep(10), P!{a,self()}, R=receive X->X end, R end),
  t:c(size, fun() -> [catch process_flag(save_calls,10000), catch process_flag(save_calls, 10001), catch process_flag(save_calls,-1), process_flag(save_calls,0)] end),
  t:c(ets, fun() -> w(30, fun() -> T=ets:new(a,[]), ets:insert(T,{1,2}), ets:lookup(T,1), ets:foldl(fun(A,B)->{A,B} end,0,T), ets:select(T,[{'_',[],['$_']}]) end) end),
  t:c(lists, fun() -> w(30, fun() -> lists:seq(1,3), lists:reverse([1,2]), lists:member(1,[1]), lists:keyfind(1,1,[{1}]), lists:sort([2,1]), maps:get(a,#{a=>1}), [1]++t:id([2]), [1,2]--t:id([1]) end) end),
  ok.
hloop() -> receive {a,P} -> P ! l() end.
err(X) -> error(X).
raise(F, A) -> apply(erlang, F, A).
