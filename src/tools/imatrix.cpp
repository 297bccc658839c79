// skipstone_imatrix(): an importance matrix of a model.
#include <string>

#include "api/guard.h"
#include "base/input_file.h"
#include "convert/importance_matrix.h"
#include "json/json.h"
#include "skipstone/tools.h"

namespace skipstone::api {
namespace {

Json imatrix(const skipstone_imatrix_params& params) {
  convert::ImportanceOptions options;
  options.model = params.model_path;
  options.text = params.text_path;
  options.output = params.output_path;
  options.chunk_tokens = params.chunk_tokens;
  options.chunks = params.chunks;
  options.threads = params.threads;
  options.overwrite = params.overwrite != 0;
  options.progress = progress_of(params, "reading the text");
  const convert::ImportanceMatrix matrix = convert::measure_importance_matrix(options);
  return {{"path", options.output},
          {"bytes", InputFile(options.output).size()},
          {"entries", matrix.entries.size()},
          {"chunks", matrix.chunks},
          {"chunk_tokens", matrix.chunk_tokens}};
}

}  // namespace

template <>
skipstone_imatrix_params defaults<skipstone_imatrix_params>() {
  skipstone_imatrix_params params{};
  params.chunk_tokens = convert::ImportanceOptions{}.chunk_tokens;
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_imatrix_params_init(skipstone_imatrix_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_imatrix(const skipstone_imatrix_params* given, char** json) {
  return api::guard([&] {
    const auto params = api::read_params(given);
    api::require(params.model_path, "model_path");
    api::require(params.text_path, "text_path");
    api::require(params.output_path, "output_path");
    const Json report = api::imatrix(params);
    if (json != nullptr) *json = api::copy_string(api::print(report));
  });
}

}  // extern "C"
