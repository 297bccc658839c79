#include "engine/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "engine/stage_host.h"
#include "exec/stage_request.h"
#include "json/json.h"

namespace skipstone::engine {

using exec::StageCommand;
using exec::StageMessage;

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

KvFormat kv_format_from(const Json& name) {
  if (const auto found = kv_format_named(name.get_ref<const std::string&>())) return *found;
  fail(Code::internal, "a stage was told of a KV cache of '{}', which it does not know", name.get_ref<const std::string&>());
}

}  // namespace

Stages::Stages(const EngineOptions& options, std::span<const StageWish> wishes) : transfer_microseconds_(options.transfer_microseconds) {
  const auto delay = std::chrono::microseconds(transfer_microseconds_);
  for (std::size_t i = 0; i < wishes.size(); ++i) links_.push_back(std::make_unique<exec::QueueLink>(delay));
  ring_ = std::make_unique<exec::StageRing>(*links_.front(), *links_.back());
  for (std::uint32_t i = 1; i < wishes.size(); ++i) {
    EngineOptions own = options;
    own.device = wishes[i].device;
    own.progress = {};
    threads_.emplace_back([this, i, own = std::move(own), sharers = static_cast<std::uint32_t>(wishes.size())] {
      StageHost(own, i, fmt::format("device {}", own.device), sharers).serve(*links_[i - 1], *links_[i]);
    });
  }
}

Stages::Stages(std::unique_ptr<exec::Link> out, std::unique_ptr<exec::Link> in, std::uint64_t transfer_microseconds)
    : transfer_microseconds_(transfer_microseconds) {
  links_.push_back(std::move(out));
  links_.push_back(std::move(in));
  ring_ = std::make_unique<exec::StageRing>(*links_.front(), *links_.back());
}

Stages::~Stages() { ring_.reset(); }

std::vector<StageState> Stages::states() {
  return keep_states(ring_->exchange({.command = StageCommand::state, .request = {}, .rows = {}, .cosines = {}, .bytes = {}}));
}

std::vector<StageState> Stages::latest_states() {
  const auto reply = ring_->try_exchange({.command = StageCommand::state, .request = {}, .rows = {}, .cosines = {}, .bytes = {}});
  if (reply) return keep_states(*reply);
  const std::lock_guard lock(latest_mutex_);
  return latest_;
}

std::vector<StageState> Stages::keep_states(const StageMessage& reply) {
  std::vector<StageState> states = states_from({reinterpret_cast<const char*>(reply.bytes.data()), reply.bytes.size()});
  for (const StageState& state : states) {
    if (state.build != stage_build()) {
      fail(Code::invalid_argument, "{} runs another version of Skipstone ({}; here {}): start the same one everywhere", state.place,
           state.build, stage_build());
    }
  }
  const std::lock_guard lock(latest_mutex_);
  latest_ = states;
  return states;
}

std::vector<std::byte> Stages::read_kv(std::uint32_t layer, std::uint32_t positions, const exec::PageLists& pages) {
  return ring_
      ->exchange(
          {.command = StageCommand::read_kv, .request = exec::kv_request(layer, positions, pages), .rows = {}, .cosines = {}, .bytes = {}})
      .bytes;
}

void Stages::write_kv(std::uint32_t layer, std::uint32_t positions, const exec::PageLists& pages, std::span<const std::byte> bytes) {
  ring_->exchange({.command = StageCommand::write_kv,
                   .request = exec::kv_request(layer, positions, pages),
                   .rows = {},
                   .cosines = {},
                   .bytes = {bytes.begin(), bytes.end()}});
}

std::string driver_of(const vk::Caps& caps) {
  return caps.driver_info.empty() ? caps.driver_name : fmt::format("{} {}", caps.driver_name, caps.driver_info);
}

std::string Stages::described() {
  std::string text = fmt::format("hop {} us", transfer_microseconds_);
  for (const StageState& stage : states()) text += fmt::format(", {} ({}) {}-{}", stage.device, stage.driver, stage.begin, stage.end);
  return text;
}

std::string Stages::other_devices(const vk::Caps& first) {
  std::string text;
  bool differ = false;
  for (const StageState& stage : states()) {
    differ = differ || stage.device != first.name || stage.driver != driver_of(first);
    text += fmt::format("{}{} ({}) from layer {}", text.empty() ? "" : ", ", stage.device, stage.driver, stage.begin);
  }
  return differ ? text : "";
}

void Stages::load(const StageSetup& setup) {
  const std::string text = to_json(setup);
  const auto bytes = std::as_bytes(std::span(text));
  ring_->post({.command = StageCommand::load, .request = {bytes.begin(), bytes.end()}, .rows = {}, .cosines = {}, .bytes = {}});
}

std::string to_json(const StageState& s) {
  return print({{"place", s.place},
                {"device", s.device},
                {"driver", s.driver},
                {"build", s.build},
                {"available", s.available},
                {"available_alone", s.available_alone},
                {"layers", {s.begin, s.end}},
                {"weights", s.weights},
                {"kv", s.kv},
                {"activations", s.activations},
                {"held", s.held},
                {"validation_messages", s.validation_messages},
                {"of_system", s.of_system},
                {"experts_on_host", s.experts_on_host},
                {"host_weights", s.host_weights},
                {"host_held", s.host_held}}) +
         "\n";
}

std::vector<StageState> states_from(std::string_view lines) {
  return reading([&] {
    std::vector<StageState> states;
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      const Json line = Json::parse(lines.substr(0, end));
      states.push_back({line.at("place"), line.at("device"), line.at("driver"), line.at("build"), line.at("available"),
                        line.at("available_alone"), line.at("layers").at(0), line.at("layers").at(1), line.at("weights"), line.at("kv"),
                        line.at("activations"), line.at("held"), line.at("validation_messages"), line.at("of_system"),
                        line.at("experts_on_host"), line.at("host_weights"), line.at("host_held")});
      lines = lines.substr(std::min(end + 1, lines.size()));
    }
    return states;
  });
}

std::string to_json(const StageSetup& s) {
  return print({{"ends", s.ends},
                {"experts_on_host", s.experts_on_host},
                {"context", s.shape.context},
                {"kv", {to_string(s.shape.kv_format.k), to_string(s.shape.kv_format.v)}},
                {"chunk", s.shape.chunk},
                {"pool_tokens", s.shape.pool_tokens},
                {"keeps_windows", s.shape.keeps_windows},
                {"matrix", s.matrix},
                {"tuned", s.tuned},
                {"fingerprint", s.fingerprint},
                {"head_fingerprint", s.head_fingerprint},
                {"model", s.model},
                {"mtp", s.mtp},
                {"synthetic", s.synthetic}});
}

StageSetup setup_from(std::string_view text) {
  return reading([&] {
    const Json document = Json::parse(text);
    StageSetup s;
    s.ends = document.at("ends").get<std::vector<std::uint32_t>>();
    s.experts_on_host = document.at("experts_on_host");
    s.shape.context = document.at("context");
    s.shape.kv_format = {kv_format_from(document.at("kv").at(0)), kv_format_from(document.at("kv").at(1))};
    s.shape.chunk = document.at("chunk");
    s.shape.pool_tokens = document.at("pool_tokens");
    s.shape.keeps_windows = document.at("keeps_windows");
    s.matrix = document.at("matrix");
    s.tuned = document.at("tuned");
    s.fingerprint = document.at("fingerprint");
    s.head_fingerprint = document.at("head_fingerprint");
    s.model = document.at("model");
    s.mtp = document.at("mtp");
    s.synthetic = document.at("synthetic");
    return s;
  });
}

}  // namespace skipstone::engine
