//! Built-in functions about code: loading, purging, module information, funs by name.
//!
//! The work is done by `vm::code`; here are the arguments, results and errors as OTP has them. What may call what (the purger
//! alone purges, the literal collector alone asks for copies) is OTP's rule, too.

mod funs;
mod loading;
mod module_info;
mod nif;
mod purging;
mod refusal;
#[cfg(test)]
mod tests;

use myriad_vm::bifs;

bifs! { pub ERLANG = "erlang" {
    "finish_loading" / 1 Plain => loading::finish_loading_1;
    "has_prepared_code_on_load" / 1 Plain => loading::has_prepared_code_on_load_1;
    "call_on_load_function" / 1 Plain => loading::call_on_load_function_1;
    "finish_after_on_load" / 2 Plain => loading::finish_after_on_load_2;
    "delete_module" / 1 Plain => loading::delete_module_1;
    "module_loaded" / 1 Plain => module_info::module_loaded_1;
    "loaded" / 0 Plain => module_info::loaded_0;
    "pre_loaded" / 0 Plain => module_info::pre_loaded_0;
    "check_old_code" / 1 Plain => module_info::check_old_code_1;
    "get_module_info" / 1 Plain => module_info::get_module_info_1;
    "get_module_info" / 2 Plain => module_info::get_module_info_2;
    "function_exported" / 3 Plain => module_info::function_exported_3;
    "is_builtin" / 3 Plain => module_info::is_builtin_3;
    "load_nif" / 2 Plain => nif::load_nif_2;
    "make_fun" / 3 Plain => funs::make_fun_3;
    "fun_info" / 2 Plain => funs::fun_info_2;
    "fun_info_mfa" / 1 Plain => funs::fun_info_mfa_1;
    "fun_to_list" / 1 Plain => funs::fun_to_list_1;
}}

bifs! { pub INTERNAL = "erts_internal" {
    "prepare_loading" / 2 Plain => loading::prepare_loading_2;
    "beamfile_chunk" / 2 Plain => module_info::beamfile_chunk_2;
    "beamfile_module_md5" / 1 Plain => module_info::beamfile_module_md5_1;
    "purge_module" / 2 Plain => purging::purge_module_2;
    "check_process_code" / 1 Plain => purging::check_process_code_1;
    "check_dirty_process_code" / 2 Plain => purging::check_dirty_process_code_2;
}}

bifs! { pub LITERAL_AREA_COLLECTOR = "erts_literal_area_collector" {
    "release_area_switch" / 0 Plain => purging::release_area_switch_0;
    "send_copy_request" / 3 Plain => purging::send_copy_request_3;
}}

bifs! { pub CODE = "code" {
    "coverage_support" / 0 Plain since 27 => module_info::coverage_support_0;
}}
