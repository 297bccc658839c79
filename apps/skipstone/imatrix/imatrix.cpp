// skipstone imatrix: what a model's matrices read, measured over a text, for quantize --imatrix.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "skipstone/tools.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

struct ImatrixOptions {
  std::string model, text, output;
  skipstone_imatrix_params params = skipstone::imatrix_params();
  bool force = false, json = false;
};

std::string report_text(const Json& report) {
  return fmt::format("{}: {}, {} matrices, {} chunks of {} tokens\n", report["path"].get<std::string>(), bytes_text(report["bytes"]),
                     report["entries"].get<std::uint64_t>(), report["chunks"].get<std::uint64_t>(),
                     report["chunk_tokens"].get<std::uint64_t>());
}

void measure(const ImatrixOptions& options) {
  interrupt::install();
  const std::string model = model_path(options.model);
  skipstone_imatrix_params params = options.params;
  params.model_path = model.c_str();
  params.text_path = options.text.c_str();
  params.output_path = options.output.c_str();
  params.overwrite = options.force ? 1 : 0;
  std::string report;
  try {
    Progress progress;
    report = skipstone::imatrix(params, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    fail(exit_code(error.status(), true), "{}", error.what());
  }
  Output output(false);
  output.write(options.json ? report + "\n" : report_text(Json::parse(report)));
}

}  // namespace

void add_imatrix(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("imatrix", "Measure an importance matrix over a text, for `skipstone quantize --imatrix`; needs no device");
  const auto options = std::make_shared<ImatrixOptions>();
  ImatrixOptions& o = *options;
  add_model_option(*command, o.model);
  command->add_option("-f,--file", o.text, "The text (UTF-8), like those that the model is for; 50000 tokens are plenty")
      ->required()
      ->type_name("TEXT");
  command->add_option("-o,--output", o.output, "The importance matrix, a GGUF file")
      ->envname("SKIPSTONE_OUTPUT")
      ->required()
      ->type_name("FILE");
  add_number(*command, "-c,--ctx-size,--chunk-tokens", o.params.chunk_tokens, "Tokens of a chunk, at most the model's context")
      ->envname("SKIPSTONE_CHUNK_TOKENS")
      ->capture_default_str();
  add_number(*command, "--chunks", o.params.chunks, "Chunks to read; 0: all of the text")
      ->envname("SKIPSTONE_CHUNKS")
      ->capture_default_str();
  add_number(*command, "--threads", o.params.threads, "0: one for each core; the file does not depend on it")
      ->envname("SKIPSTONE_THREADS")
      ->capture_default_str();
  command->add_flag("--force", o.force, "Replace FILE where it is there already");
  command->add_flag("--json", o.json, "Report size, matrices and chunks as JSON")->envname("SKIPSTONE_JSON");
  command->footer(
      "The scalar reference runs the model, on the CPU: a thousand tokens take some 4 seconds of a core for 14 million weights, and\n"
      "memory for 4 bytes a weight. For larger models make the file with llama.cpp's llama-imatrix; both have the same form.\n\n"
      "Examples:\n  skipstone imatrix -m model-f16.gguf -f text.txt -o model.imatrix.gguf\n"
      "  skipstone quantize model-f16.gguf model-q3_k_m.gguf q3_k_m --imatrix model.imatrix.gguf\n\n" +
      std::string(exit_code_help));
  command->callback([options, &code] {
    measure(*options);
    code = ExitCode::ok;
  });
}

}  // namespace cli
