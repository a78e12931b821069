%% Functions whose code has the instructions that matter when they are damaged: taking terms apart, building them, matching and
%% making bit strings, receives, exceptions, floats, maps, records, funs. `mutants` damages them; they need do nothing useful.
-module(mutant_subjects).
-compile([export_all, nowarn_export_all]).

-record(r, {a, b = 2, c, d}).

pairs([{K, V} | T], Acc) -> pairs(T, [{V, K} | Acc]);
pairs([_ | T], Acc) -> pairs(T, Acc);
pairs([], Acc) -> Acc.

sum({A, B, C}) -> {A + B, C};
sum({A, B}) -> A + B;
sum([A, B | _]) -> A * B;
sum(X) when is_integer(X), X > 3 -> X - 1;
sum(_) -> none.

both(X) -> {A, B} = two(X), [A | B].
two([H | T]) -> {H, T};
two(X) -> {X, []}.

record(X) -> R = #r{a = X, c = [X]}, change(R, X).
change(#r{a = A} = R, X) -> R#r{b = A, c = X, d = {X}};
change(R, _) -> R.
three(#r{a = 1} = R) -> (R#r{a = 2})#r.b;
three(#r{b = B, d = D}) -> {B, D};
three(_) -> ok.

bits(<<A:8, B:16/little, Rest/binary>>) when A < 128 -> [A, B | bits(Rest)];
bits(<<A:4, B:3/signed, Rest/bits>>) -> {A, B, Rest};
bits(_) -> [].
text(<<C/utf8, T/binary>>, N) -> text(T, N + C);
text(<<F:64/float, _/bits>>, N) -> F + N;
text(<<L, S:L/binary, T/binary>>, N) -> text(T, {N, S});
text(_, N) -> N.
make(A, B) when is_integer(A), is_binary(B) -> <<A:16, B/binary, 1:3, "abc", A/float>>;
make(A, B) -> {A, B}.
comprehension(L) when is_list(L) -> << <<X:8>> || X <- L, is_integer(X) >>;
comprehension(B) -> [X || <<X:4>> <= B].

take(T) -> self() ! {T, 1}, self() ! T, receive {X, 1} -> two(X) after 1 -> none end.
wait(T) -> receive {T, X} when X > 1 -> [X]; [H | _] -> {H} after 2 -> T end.
ref(T) -> R = make_ref(), self() ! {R, T}, receive {R, X} -> X after 0 -> R end.

safe(F, X) -> try two(X) of {A, _} -> [A | F] catch error:R:S -> {R, S}; C:R -> {C, R} after self() end.
caught(X) -> case catch hd(X) of {'EXIT', {R, _}} -> R; Y -> {Y} end.
deep(X) -> try try element(1, X) catch error:badarg -> throw({bad, X}) end catch throw:{bad, Y} -> [Y] end.

float(X, Y) when is_float(X), is_float(Y) -> (X * Y + 1.0) / (X - Y);
float(X, Y) when is_number(X), is_number(Y) -> [float(float(X), float(Y)) | X];
float(X, _) -> X.

map(#{a := A, b := {B, _}} = M) -> M#{a := B, c => A};
map(#{a := A} = M) -> maps:put(A, M, #{x => A, y => [A]});
map(M) when map_size(M) > 0 -> [K || {K, _} <- maps:to_list(M)];
map(_) -> #{}.

funs(X) -> F = fun(A, B) -> {A, B, X} end, [F(X, 1), (fun sum/1)(X), apply(F, [2, X])].
fold(F, A, L) when is_function(F, 2), is_list(L) -> lists:foldl(F, A, L);
fold(F, A, L) -> lists:foldl(fun(X, Y) -> [X, F | Y] end, A, [L]).
guard(X, Y) when element(1, X) =:= Y; hd(X) == Y -> tl(X);
guard(X, Y) when tuple_size(X) >= 2, length(Y) < 3 -> element(2, X);
guard(X, Y) -> {X, Y}.

switch(a) -> 1; switch(b) -> 2; switch(c) -> [3]; switch({d, X}) -> X; switch({e, X, Y}) -> [X | Y];
switch(1) -> one; switch(2) -> two; switch(70000000000000000000) -> big; switch("abc") -> text; switch(X) -> X.

tree(nil, K) -> {K, nil, nil};
tree({K, L, R}, X) when X < K -> {K, tree(L, X), R};
tree({K, L, R}, X) when X > K -> {K, L, tree(R, X)};
tree(T, _) -> T.
