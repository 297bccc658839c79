// skipstone quantize: a model file in another type.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "skipstone/skipstone.hpp"
#include "tensor_types.h"

namespace cli {
namespace {

using Json = nlohmann::ordered_json;

struct QuantizeOptions {
  std::string input, output, type;
  std::uint32_t threads = 0;
  bool force = false, json = false;
};

std::string size_text(const Json& file) { return bytes_text(static_cast<double>(file["bytes"].get<std::uint64_t>())); }

double bits_per_weight(const Json& file) {
  double bytes = 0.0, weights = 0.0;
  for (const Json& type : file["tensor_types"]) {
    bytes += type["bytes"].get<double>();
    weights += type["weights"].get<double>();
  }
  return weights > 0.0 ? 8.0 * bytes / weights : 0.0;
}

std::string report_text(const Json& report) {
  const Json &input = report["input"], &output = report["output"];
  return fmt::format("{}: {} (from {}), tensors {}, {:.2f} bits per weight (from {:.2f})\n", output["path"].get<std::string>(),
                     size_text(output), size_text(input), tensor_types_text(output["tensor_types"]), bits_per_weight(output),
                     bits_per_weight(input));
}

void quantize(const QuantizeOptions& options) {
  interrupt::install();
  skipstone_quantize_params params = skipstone_quantize_default_params();
  params.model_path = options.input.c_str();
  params.output_path = options.output.c_str();
  params.type = options.type.c_str();
  params.overwrite = options.force ? 1 : 0;
  params.threads = options.threads;
  Progress progress;
  std::string report;
  try {
    report = skipstone::quantize(params, [&progress](const char* stage, double done) {
      progress.update(stage, done);
      return !interrupt::requested();
    });
  } catch (const skipstone::error& error) {
    progress.clear();
    throw Failure(exit_code(error.status(), true), error.what());
  }
  progress.clear();
  Output output(false);
  output.write(options.json ? report + "\n" : report_text(Json::parse(report)));
}

}  // namespace

void add_quantize(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("quantize", "Write a model file anew with smaller (or larger) weights; needs no device");
  const auto options = std::make_shared<QuantizeOptions>();
  command->add_option("INPUT", options->input, "A GGUF file; one part of a split model stands for all of it")->required();
  command->add_option("OUTPUT", options->output, "The GGUF file to write; one file, whatever the input was")->required();
  command->add_option("TYPE", options->type, "F32, F16, BF16, Q8_0 or Q4_0; see below")->required();
  command->add_flag("--force", options->force, "Replace OUTPUT where it is there already");
  command->add_option("--threads", options->threads, "0: one for each core; the file does not depend on it")
      ->envname("SKIPSTONE_THREADS")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Report sizes and types as JSON")->envname("SKIPSTONE_JSON");
  command->footer(std::string("Types, with their bits per weight:\n"
                              "  F32   32    what training gives\n"
                              "  F16   16    usually indistinguishable; weights beyond 65504 do not fit and are refused\n"
                              "  BF16  16    the range of F32 with fewer digits\n"
                              "  Q8_0   8.5  blocks of 32 bytes with a scale; hardly worse than F16\n"
                              "  Q4_0   4.5  blocks of 32 half bytes with a scale; the first and the last matrix stay Q8_0\n"
                              "Norms and biases are F32 in all of them; a matrix whose rows do not divide by 32 is F16 instead of Q8_0 or\n"
                              "Q4_0. Start from the largest file there is: what a type has lost, the next one does not bring back.\n\n"
                              "Example:\n  skipstone quantize model-f16.gguf model-q8_0.gguf q8_0\n\n") +
                  exit_code_help);
  command->callback([options, &code] {
    quantize(*options);
    code = ExitCode::ok;
  });
}

}  // namespace cli
