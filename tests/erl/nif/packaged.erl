%% Libraries as they are packaged: crypto, the decoder of ASN.1, jiffy.
-module(packaged).
-export([main/0]).

main() ->
    hashes(),
    ciphers(),
    keys(),
    certificates(),
    json().

hashes() ->
    t:each(hash, [md5, sha, sha256, sha512, sha3_256, blake2b, nosuch], fun(H) -> crypto:hash(H, ["ab", <<"c">>]) end),
    t:c(hash_state, fun() -> crypto:hash_final(lists:foldl(fun(D, S) -> crypto:hash_update(S, D) end, crypto:hash_init(sha), ["a", <<"b">>, [[$c]]])) end),
    t:c(hash_large, fun() -> crypto:hash(sha256, binary:copy(<<"0123456789">>, 200000)) end),
    t:c(mac, fun() -> {crypto:mac(hmac, sha256, <<"key">>, "data"), crypto:mac(cmac, aes_128_cbc, <<1:128>>, "data")} end),
    t:c(derived, fun() -> crypto:pbkdf2_hmac(sha256, <<"pw">>, <<"salt">>, 100, 16) end),
    t:c(random, fun() -> {byte_size(crypto:strong_rand_bytes(1000)), [crypto:rand_uniform(5, 6) || _ <- [1, 2]]} end),
    t:c(power, fun() -> crypto:mod_pow(3, 1 bsl 200, (1 bsl 89) - 1) end).

ciphers() ->
    Key = <<1:128>>, Iv = <<2:128>>,
    t:each(one_time, [aes_128_ecb, aes_128_cbc, aes_128_ctr, aes_128_cfb8], fun(C) ->
        Out = crypto:crypto_one_time(C, Key, Iv, <<"0123456789abcdef">>, true),
        {Out, crypto:crypto_one_time(C, Key, Iv, Out, false)}
    end),
    t:c(aead, fun() ->
        {Out, Tag} = crypto:crypto_one_time_aead(aes_256_gcm, <<0:256>>, <<0:96>>, "hello", "more", true),
        {Out, Tag, crypto:crypto_one_time_aead(aes_256_gcm, <<0:256>>, <<0:96>>, Out, "more", Tag, false),
         crypto:crypto_one_time_aead(aes_256_gcm, <<0:256>>, <<0:96>>, Out, "less", Tag, false)}
    end),
    t:c(stream, fun() -> S = crypto:crypto_init(aes_128_ctr, Key, Iv, true), [crypto:crypto_update(S, D) || D <- ["abc", <<>>, "defgh"]] end),
    t:c(bad_key, fun() -> crypto:crypto_one_time(aes_128_cbc, <<1>>, Iv, "x", true) end),
    t:c(supports, fun() -> {lists:member(aes_128_gcm, crypto:supports(ciphers)), lists:member(x25519, crypto:supports(curves))} end).

keys() ->
    t:each(agreed, [x25519, secp256r1], fun(Curve) ->
        {Pub1, Priv1} = crypto:generate_key(ecdh, Curve), {Pub2, Priv2} = crypto:generate_key(ecdh, Curve),
        crypto:compute_key(ecdh, Pub2, Priv1, Curve) =:= crypto:compute_key(ecdh, Pub1, Priv2, Curve)
    end),
    %% Runs on a dirty scheduler.
    t:c(rsa, fun() ->
        {Pub, Priv} = crypto:generate_key(rsa, {1024, 65537}),
        Signed = crypto:sign(rsa, sha256, <<"text">>, Priv),
        {byte_size(Signed), crypto:verify(rsa, sha256, <<"text">>, Signed, Pub), crypto:verify(rsa, sha256, <<"other">>, Signed, Pub)}
    end),
    t:c(rsa_at_once, fun() ->
        Self = self(),
        Ps = [spawn_link(fun() -> {[E | _], _} = crypto:generate_key(rsa, {512, 65537}), Self ! {self(), E} end) || _ <- lists:seq(1, 8)],
        [receive {P, E} -> E end || P <- Ps]
    end).

certificates() ->
    #{server_config := Server, client_config := Client} = public_key:pkix_test_data(
        #{server_chain => #{root => [], intermediates => [], peer => []}, client_chain => #{root => [], intermediates => [], peer => []}}),
    Cert = proplists:get_value(cert, Server),
    Root = hd(proplists:get_value(cacerts, Client)),
    t:c(certificate, fun() -> {element(1, public_key:pkix_decode_cert(Cert, otp)), public_key:pkix_is_self_signed(Root), public_key:pkix_is_issuer(Cert, Root)} end),
    t:c(encoded_again, fun() -> public_key:pkix_encode('OTPCertificate', public_key:pkix_decode_cert(Cert, otp), otp) =:= Cert end),
    t:c(damaged, fun() -> try public_key:pkix_decode_cert(binary:part(Cert, 0, 100), otp) catch error:{badmatch, {error, {asn1, _}}} -> refused end end).

json() ->
    Value = {[{<<"a">>, [1, 2.5, true, null, <<"å"/utf8>>]}, {<<"b">>, {[]}}, {<<"n">>, -123456789012345678901234567890}]},
    t:c(encode, fun() -> iolist_to_binary(jiffy:encode(Value)) end),
    t:each(decode, [<<"{\"x\": [1, 3.0e5, {\"y\": null}], \"z\": \"\\u00e5\"}">>, <<"[1, ">>, <<"\"">>, <<>>], fun jiffy:decode/1),
    t:c(maps, fun() -> jiffy:decode(<<"{\"x\": 1, \"y\": {}}">>, [return_maps]) end),
    %% Long enough to give way now and then.
    t:c(large, fun() ->
        Large = [{[{integer_to_binary(I), I} || I <- lists:seq(1, 50)]} || _ <- lists:seq(1, 2000)],
        Text = iolist_to_binary(jiffy:encode(Large)),
        {byte_size(Text), jiffy:decode(Text) =:= Large}
    end).
