// skipstone quantize: a model file in another type.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "convert/tensor_types.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "skipstone/tools.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

struct QuantizeOptions {
  std::string input, output, type, sparse, scores, calibration, imatrix;
  std::uint32_t threads = 0;
  bool force = false, json = false;
};

double bits_per_weight(const Json& file) {
  double bytes = 0.0, weights = 0.0;
  for (const Json& type : file["tensor_types"]) {
    bytes += type["bytes"].get<double>();
    weights += type["weights"].get<double>();
  }
  return weights > 0.0 ? 8.0 * bytes / weights : 0.0;
}

std::string sizes_text(const Json& report) {
  const Json &input = report["input"], &output = report["output"];
  return fmt::format("{}: {} (from {}), tensors {}, {:.2f} bits per weight (from {:.2f})\n", output["path"].get<std::string>(),
                     bytes_text(output["bytes"]), bytes_text(input["bytes"]), tensor_types_text(output["tensor_types"]),
                     bits_per_weight(output), bits_per_weight(input));
}

void quantize(const QuantizeOptions& options) {
  interrupt::install();
  const std::string input = model_file(options.input);
  skipstone_quantize_params params = skipstone::quantize_params();
  params.model_path = input.c_str();
  params.output_path = options.output.c_str();
  params.type = options.type.c_str();
  params.overwrite = options.force ? 1 : 0;
  params.threads = options.threads;
  params.sparse = options.sparse.c_str();
  params.scores = options.scores.c_str();
  params.calibration_path = options.calibration.c_str();
  params.imatrix_path = options.imatrix.c_str();
  std::string report;
  try {
    Progress progress;
    report = skipstone::quantize(params, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    fail(exit_code(error.status(), true), "{}", error.what());
  }
  Output output(false);
  output.write(options.json ? report + "\n" : sizes_text(Json::parse(report)));
}

}  // namespace

void add_quantize(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("quantize", "Write a model file anew with smaller (or larger) weights; needs no device");
  const auto options = std::make_shared<QuantizeOptions>();
  command->add_option("INPUT", options->input, "A GGUF file; one part of a split model means all of it")->required();
  command->add_option("OUTPUT", options->output, "The GGUF file to write; one file, whatever the input was")->required();
  command->add_option("TYPE", options->type, "F16, Q8_0, Q4_K_M, ...; see below")->required();
  command->add_flag("--force", options->force, "Replace OUTPUT where it is there already");
  add_number(*command, "--threads", options->threads, "0: one for each core; the file does not depend on it")
      ->envname("SKIPSTONE_THREADS")
      ->capture_default_str();
  command
      ->add_option("--imatrix", options->imatrix,
                   "An importance matrix (skipstone imatrix, llama-imatrix): what it says matters is rounded best")
      ->type_name("FILE");
  command->add_option("--sparse", options->sparse, "2:4: of four neighbouring weights of the layers' matrices two stay; TYPE F16 or Q8_0");
  command->add_option("--scores", options->scores, "Which two: magnitude (default), or wanda, which weighs by a text's activations");
  command->add_option("--calibration", options->calibration, "The text for wanda; its first 4096 tokens are run, on the CPU");
  command->add_flag("--json", options->json, "Report sizes and types as JSON")->envname("SKIPSTONE_JSON");
  command->footer(std::string(tensor_types_help) +
                  "Start from the largest file there is: what a type has lost, the next one does not bring back.\n\n"
                  "Examples:\n  skipstone quantize model-f16.gguf model-q8_0.gguf q8_0\n"
                  "  skipstone quantize model-f16.gguf model-q3_k_m.gguf q3_k_m --imatrix model.imatrix.gguf\n"
                  "  skipstone quantize model-f16.gguf model-sparse.gguf f16 --sparse 2:4 --scores wanda --calibration text.txt\n\n" +
                  exit_code_help);
  command->callback([options, &code] {
    quantize(*options);
    code = ExitCode::ok;
  });
}

}  // namespace cli
