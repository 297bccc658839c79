// skipstone_convert(): a Hugging Face checkpoint as a GGUF file.
#include "convert/convert.h"

#include "api/guard.h"
#include "convert/tensor_type.h"
#include "skipstone/tools.h"

namespace skipstone::api {
namespace {

void run(const skipstone_convert_params& params) {
  convert::ConvertOptions options;
  options.folder = params.checkpoint_path;
  options.output = params.output_path;
  options.type = convert::parse_file_type(text_or_empty(params.type));
  options.exit_layer = params.exit_layer;
  options.pre_tokenizer = text_or_empty(params.pre_tokenizer);
  options.overwrite = params.overwrite != 0;
  options.progress = progress_of(params, "converting");
  convert::convert(options);
}

}  // namespace

template <>
skipstone_convert_params defaults<skipstone_convert_params>() {
  skipstone_convert_params params{};
  params.type = "F16";
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_convert_params_init(skipstone_convert_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_convert(const skipstone_convert_params* given) {
  return api::guard([&] {
    const auto params = api::read_params(given);
    api::require(params.checkpoint_path, "checkpoint_path");
    api::require(params.output_path, "output_path");
    api::run(params);
  });
}

}  // extern "C"
