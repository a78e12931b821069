%% Source of t29.beam (compiled by OTP 29.1.1): what OTP 26 to 29 added.
-module(t29).
-export([make/2, update/2, x/1, q/1, any/1, parse/1, set/1, range/1, big/1]).
-export_record([pt]).

-record #pt{x = 0, y = [a], z}.
-record #loc{q = "hello", w = 1.5, e = none, i = 1000000000000}.
-record(old, {a, b, c}).

make(X, Y) -> #pt{x = X, y = Y, z = 1}.
update(R, X) -> R#pt{x = X}.
x(#pt{x = X}) -> X.
q(#loc{q = Q}) -> Q;
q(_) -> #loc{}.
any(R) -> R#_.x.

parse(<<5:4, X:12/signed-little, Y:3/binary, _:7, Rest/bits>>) -> {X, Y, Rest};
parse(<<"abc">>) -> abc.

set(#old{} = R) -> R#old{a = 1, c = 2}.

range(X) when is_integer(X, 1, 10) -> [max(X, 3), min(X, 5)].

big(X) -> X + 123456789012345678901234567890.
