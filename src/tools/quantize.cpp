// skipstone_quantize(): a model file in another type.
#include "convert/quantize.h"

#include <string>

#include "api/guard.h"
#include "convert/tensor_type.h"
#include "gguf/gguf.h"
#include "json/json.h"
#include "skipstone/tools.h"

namespace skipstone::api {
namespace {

Json file_json(const std::string& path) {
  const gguf::File file = gguf::File::open(path);
  return {{"path", file.path()}, {"bytes", file.file_bytes()}, {"tensor_types", tensor_types_json(file)}};
}

Json quantize(const skipstone_quantize_params& params) {
  convert::QuantizeOptions options;
  options.input = params.model_path;
  options.output = params.output_path;
  options.type = convert::parse_file_type(text_or_empty(params.type));
  options.overwrite = params.overwrite != 0;
  options.threads = params.threads;
  const std::string sparse = text_or_empty(params.sparse), scores = text_or_empty(params.scores);
  if (!sparse.empty()) {
    if (sparse != "2:4") fail(Code::invalid_argument, "there is no sparse pattern '{}'; there is 2:4", gguf::escaped(sparse.substr(0, 40)));
    options.sparse = convert::parse_scores(scores.empty() ? "magnitude" : scores);
  } else if (!scores.empty()) {
    fail(Code::invalid_argument, "scores choose the weights of sparse matrices; say which pattern (--sparse 2:4)");
  }
  options.calibration = text_or_empty(params.calibration_path);
  options.calibration_progress = progress_of(params, "calibrating");
  options.imatrix = text_or_empty(params.imatrix_path);
  options.progress = progress_of(params, "quantising");
  convert::quantize(options);
  return {{"input", file_json(options.input)}, {"output", file_json(options.output)}};
}

}  // namespace

template <>
skipstone_quantize_params defaults<skipstone_quantize_params>() {
  skipstone_quantize_params params{};
  params.type = "Q8_0";
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_quantize_params_init(skipstone_quantize_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_quantize(const skipstone_quantize_params* given, char** json) {
  return api::guard([&] {
    const auto params = api::read_params(given);
    api::require(params.model_path, "model_path");
    api::require(params.output_path, "output_path");
    const Json report = api::quantize(params);
    if (json != nullptr) *json = api::copy_string(api::print(report));
  });
}

}  // extern "C"
