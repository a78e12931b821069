//! `myriad:share/1`: a term placed where all processes may share it (heap/bundle), by hand.

myriad_vm::bifs! { pub SHARE = "myriad" {
    "share" / 1 Plain => |ctx, a| {
        let (term, words) = ctx.state.heap.share(a[0]);
        ctx.pay_for_copy(words);
        Ok(term)
    };
}}
