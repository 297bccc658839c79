#include "engine/stage_json.h"

#include "base/status.h"
#include "json/json.h"

namespace skipstone::engine {
namespace {

std::string print(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Runs `read` and converts exceptions of the JSON library to an Error.
template <typename Read>
auto reading(const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    fail(Code::internal, "a stage was told something that it does not understand: {}", error.what());
  }
}

}  // namespace

std::string to_json(const StageState& s) {
  return print({{"place", s.place},
                {"device", s.device},
                {"driver", s.driver},
                {"build", s.build},
                {"available", s.available},
                {"layers", {s.begin, s.end}},
                {"weights", s.weights},
                {"kv", s.kv},
                {"activations", s.activations},
                {"held", s.held},
                {"validation_messages", s.validation_messages}}) +
         "\n";
}

std::vector<StageState> states_from(std::string_view lines) {
  return reading([&] {
    std::vector<StageState> states;
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      const Json line = Json::parse(lines.substr(0, end));
      states.push_back({line.at("place"), line.at("device"), line.at("driver"), line.at("build"), line.at("available"),
                        line.at("layers").at(0), line.at("layers").at(1), line.at("weights"), line.at("kv"), line.at("activations"),
                        line.at("held"), line.at("validation_messages")});
      lines = lines.substr(std::min(end + 1, lines.size()));
    }
    return states;
  });
}

std::string to_json(const StageSetup& s) {
  return print({{"ends", s.ends},
                {"context", s.shape.context},
                {"kv", static_cast<int>(s.shape.kv_format)},
                {"chunk", s.shape.chunk},
                {"pool_tokens", s.shape.pool_tokens},
                {"keeps_windows", s.shape.keeps_windows},
                {"matrix", s.matrix},
                {"tuned", s.tuned},
                {"fingerprint", s.fingerprint},
                {"model", s.model},
                {"synthetic", s.synthetic}});
}

StageSetup setup_from(std::string_view text) {
  return reading([&] {
    const Json document = Json::parse(text);
    StageSetup s;
    s.ends = document.at("ends").get<std::vector<std::uint32_t>>();
    s.shape.context = document.at("context");
    s.shape.kv_format = static_cast<KvFormat>(document.at("kv").get<int>());
    s.shape.chunk = document.at("chunk");
    s.shape.pool_tokens = document.at("pool_tokens");
    s.shape.keeps_windows = document.at("keeps_windows");
    s.matrix = document.at("matrix");
    s.tuned = document.at("tuned");
    s.fingerprint = document.at("fingerprint");
    s.model = document.at("model");
    s.synthetic = document.at("synthetic");
    return s;
  });
}

}  // namespace skipstone::engine
