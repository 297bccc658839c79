#include <limits>

#include "fuzz/api/caller.h"
#include "skipstone/tools.h"
#include "skipstone/vulkan.h"

namespace skipstone::fuzz {

const std::vector<Caller::Call>& Caller::other_calls() {
  static const std::vector<Call> calls = {&Caller::load,    &Caller::engine_info, &Caller::names, &Caller::drafter_info, &Caller::inspect,
                                          &Caller::devices, &Caller::vulkan,      &Caller::tools, &Caller::experiments};
  return calls;
}

void Caller::load() {
  static const std::string many(100000, ',');
  skipstone_engine_params params;
  skipstone_engine_params_init(&params, sizeof(params));
  params.model_path = either<const char*>({shared_.model.c_str(), "none", nullptr, ""});
  params.progress = a_progress();
  params.user_data = this;
  skipstone_memory_account* account = nullptr;
  taken(skipstone_memory_account_create(either<std::uint64_t>({0, 1, UINT64_MAX}), nullptr, nullptr, one_in(60) ? nullptr : &account),
        "memory_account_create");
  if (one_in(4)) params.memory_account = account;
  switch (random_.below(13)) {
    case 0:
      params.context = UINT32_MAX;
      break;
    case 1:
      params.kv_type = 77;
      break;
    case 2:
      params.tuning = -1;
      break;
    case 3:
      params.math = 9;
      break;
    case 4:
      params.devices = either<const char*>({"0,0", "0:1,", ",", "x:y", many.c_str(), "mpi:1,2", "9,8"});
      break;
    case 5:
      params.model_data = &params, params.model_bytes = one_in(2) ? sizeof(params) : UINT64_MAX;
      break;
    case 6:
      params.model_bytes = 7;
      break;
    case 7:
      params.memory_limit = 1;
      break;
    case 8:
      params.pool_tokens = UINT32_MAX;
      break;
    case 9:
      params.struct_size = one_in(2) ? 0 : SIZE_MAX;
      break;
    case 10:
      params.prefixes = 5;
      break;
    case 11:
      params.experts_on_host = either<int32_t>({INT32_MIN, -2, 0, 1, INT32_MAX});
      break;
    default:
      if (!one_in(8)) params.synthetic = "nosuch:type";
  }
  skipstone_engine* made = nullptr;
  const bool given = taken(skipstone_engine_load(one_in(30) ? nullptr : &params, one_in(60) ? nullptr : &made), "load");
  expect(given == (made != nullptr), "load", "an engine stands for success");
  skipstone_engine_free(made);
  char* json = nullptr;
  if (one_in(4)) text_given(skipstone_plan_devices(&params, &json), "plan_devices", json);
  expect(skipstone_memory_account_held(account) == 0, "memory_account_held", "a freed engine gives its memory back");
  skipstone_memory_account_free(account);
}

void Caller::engine_info() {
  info_given<skipstone_engine_info>(
      "engine_get_info", [](skipstone_engine_info* info, Caller& self) { return skipstone_engine_get_info(self.an_engine(), info); });
  char* json = nullptr;
  text_given(skipstone_engine_report(an_engine(), &json), "engine_report", json);
  taken(skipstone_engine_report(an_engine(), nullptr), "engine_report");
}

void Caller::names() {
  for (const char* name :
       {skipstone_status_name(static_cast<skipstone_status>(random_.below(20))), skipstone_synthetic_models(), skipstone_chat_templates(),
        skipstone_architectures(), skipstone_version(), skipstone_commit(), skipstone_last_error()}) {
    expect(name != nullptr, "names", "there is always one");
  }
  static_cast<void>(skipstone_draft_is_lossless(any_text()));
  skipstone_log_message(either<int>({-5, 0, 2, 99}), any_text());
  skipstone_string_free(nullptr);
  skipstone_tokens_free(nullptr);
  skipstone_session_free(nullptr);
  skipstone_engine_free(nullptr);
}

void Caller::drafter_info() {
  info_given<skipstone_drafter_info>("drafter_get_info", [](skipstone_drafter_info* info, Caller& self) {
    return skipstone_drafter_get_info(self.either<std::size_t>({0, 3, skipstone_drafter_count(), SIZE_MAX}), info);
  });
}

void Caller::inspect() {
  skipstone_inspect_params params;
  skipstone_inspect_params_init(&params, sizeof(params));
  params.model_path = either<const char*>({shared_.model.c_str(), "none", nullptr, shared_.folder.c_str()});
  params.context = either<uint32_t>({0, 1, UINT32_MAX});
  params.kv_type = either<int32_t>({0, 1, -1, 77});
  if (one_in(10)) params.pre_tokenizer = any_text();
  char* json = nullptr;
  text_given(skipstone_inspect(one_in(20) ? nullptr : &params, &json), "inspect", json);
}

void Caller::devices() {
  char* json = nullptr;
  if (one_in(4)) text_given(skipstone_list_devices(any_text(), &json), "list_devices", json);
  skipstone_doctor_params params;
  skipstone_doctor_params_init(&params, sizeof(params));
  params.device = "no such device";
  if (one_in(2)) params.struct_size = 0;
  json = nullptr;
  text_given(skipstone_doctor(&params, &json), "doctor", json);
  taken(skipstone_doctor(&params, nullptr), "doctor");
}

void Caller::vulkan() {
  skipstone_vulkan_host host;
  skipstone_vulkan_host_init(&host, sizeof(host));
  const char* extensions[] = {"x", nullptr};
  host.extensions = one_in(2) ? extensions : nullptr;
  host.extension_count = a_count(2);
  host.feature_count = one_in(2) ? SIZE_MAX / 8 : 0;
  skipstone_vulkan_needs needs{};
  needs.struct_size = sizeof(needs);
  if (taken(skipstone_vulkan_requirements(&host, one_in(9) ? nullptr : &needs), "vulkan_requirements")) skipstone_vulkan_needs_free(&needs);
  skipstone_vulkan_needs_free(nullptr);
}

void Caller::tools() {
  skipstone_convert_params convert;
  skipstone_convert_params_init(&convert, sizeof(convert));
  convert.checkpoint_path = either<const char*>({nullptr, "none", shared_.folder.c_str()});
  const std::string out = shared_.folder + "/none/out.gguf";
  convert.output_path = one_in(4) ? nullptr : out.c_str();
  convert.type = any_text();
  taken(skipstone_convert(one_in(20) ? nullptr : &convert), "convert");
  skipstone_quantize_params quantize;
  skipstone_quantize_params_init(&quantize, sizeof(quantize));
  quantize.model_path = either<const char*>({nullptr, "none", shared_.model.c_str()});
  quantize.output_path = one_in(4) ? nullptr : out.c_str();
  quantize.threads = either<uint32_t>({0, 1, UINT32_MAX});
  if (one_in(4)) quantize.sparse = any_text();
  if (one_in(4)) quantize.scores = any_text();
  if (one_in(4)) quantize.imatrix_path = either<const char*>({"none", shared_.model.c_str()});
  char* json = nullptr;
  text_given(skipstone_quantize(&quantize, &json), "quantize", json);
  skipstone_imatrix_params imatrix;
  skipstone_imatrix_params_init(&imatrix, sizeof(imatrix));
  imatrix.model_path = either<const char*>({nullptr, "none", shared_.model.c_str()});
  imatrix.text_path = either<const char*>({nullptr, "none", shared_.model.c_str()});
  imatrix.output_path = one_in(4) ? nullptr : out.c_str();
  imatrix.chunk_tokens = either<uint32_t>({0, 2, UINT32_MAX});
  json = nullptr;
  text_given(skipstone_imatrix(&imatrix, &json), "imatrix", json);
  skipstone_tune_params tune;
  skipstone_tune_params_init(&tune, sizeof(tune));
  const char* prompts[] = {"the quick brown", any_text()};
  tune.prompts = one_in(4) ? nullptr : prompts;
  tune.prompt_count = a_count(2);
  tune.minutes = either<double>({0, -1, std::numeric_limits<double>::quiet_NaN(), 1});
  tune.progress = [](const skipstone_tune_step*, void*) { return 1; };
  json = nullptr;
  const skipstone_status status = skipstone_tune(an_engine(), &tune, &json);
  text_given(status, "tune", json);
}

void Caller::experiments() {
  char* json = nullptr;
  if (one_in(6)) text_given(skipstone_engine_costs(an_engine(), &Caller::on_progress, this, &json), "costs", json);
  skipstone_cosine_params cosines;
  skipstone_cosine_params_init(&cosines, sizeof(cosines));
  const char* prompts[] = {any_text()};
  cosines.prompts = one_in(4) ? nullptr : prompts;
  cosines.prompt_count = a_count(1);
  cosines.progress = [](const char*, double, void*) { return 1; };
  json = nullptr;
  text_given(skipstone_cosines(an_engine(), &cosines, &json), "cosines", json);
  skipstone_engine_params params;
  skipstone_engine_params_init(&params, sizeof(params));
  json = nullptr;
  const auto seconds = either<double>({0, -1, std::numeric_limits<double>::quiet_NaN(), 1e300});
  text_given(skipstone_tune_device(&params, seconds, &json), "tune_device", json);
  taken(skipstone_copy_bandwidth(nullptr, nullptr), "copy_bandwidth");
  info_given<skipstone_job_info>("job_get_info", [](skipstone_job_info* info, Caller&) { return skipstone_job_get_info(info); });
  json = nullptr;
  text_given(skipstone_job_gather(any_text(), &json), "job_gather", json);
  taken(skipstone_job_serve(0), "job_serve");
}

}  // namespace skipstone::fuzz
