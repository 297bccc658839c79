#include "engine/conversation_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "base/output_file.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "tune/measurement_file.h"

namespace skipstone::engine {

using speculation::Token;

namespace {

constexpr std::string_view magic = "SKIPCONV";
constexpr std::uint32_t version = 2;
constexpr std::uint32_t most_header_bytes = 64u << 20;  // enough for a context of millions of tokens
constexpr std::uint64_t preamble_bytes = 16;

std::string print(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::array<std::byte, 8> little_endian(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> 8 * i);
  return bytes;
}

std::uint64_t number_of(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// Hashes by words: a cache of a gigabyte takes a fraction of a second.
void add(Fnv1a& hash, std::span<const std::byte> bytes) {
  hash.add_word(bytes.size());
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(8, bytes.size()))) {
    hash.add_word(number_of(bytes.first(std::min<std::size_t>(8, bytes.size()))));
  }
}

/// Everything besides the tokens that keys and values depend on, each under its name in messages.
Json origin_of(const Engine::State& engine) {
  const Json device = tune::device_key(engine.model->device->caps(), kernels::shader_hash());
  Json origin = {{"model", engine.file.fingerprint},
                 {"context", engine.model->shape.context},
                 {"precision of the cache", to_string(engine.model->shape.kv_format)},
                 {"attention chunk", engine.model->shape.chunk},
                 {"math", engine.model->select->math() == kernels::Math::matrix ? "matrix" : "f32"},
                 {"version of Skipstone", SKIPSTONE_VERSION},
                 {"device", device.at("device")},
                 {"driver", print(device)}};
  // Layers on other devices have different bits if those devices differ from the first one.
  const std::string others = engine.stages ? engine.stages->other_devices(engine.model->device->caps()) : "";
  if (!others.empty()) origin["devices"] = others;
  if (const std::size_t heads = engine.model->config.prediction_layers.size(); heads > 0) origin["number of heads"] = heads;
  if (!engine.file.head_fingerprint.empty()) origin["head"] = engine.file.head_fingerprint;
  return origin;
}

/// Heads are on the device with the first layer.
bool is_local(std::uint32_t layer, const exec::LoadedModel& model) {
  return layer < model.local_layers() || layer >= model.config.layer_count();
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

[[noreturn]] void damaged(const std::string& path, const char* what) {
  fail(Code::bad_file, "the conversation '{}' is damaged: {}", path, what);
}

std::uint64_t whole(const SortedJson& value, std::uint64_t most, const std::string& path) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) damaged(path, "its header has a number that cannot be");
  return value.get<std::uint64_t>();
}

const SortedJson& member(const SortedJson& object, const char* name, SortedJson::value_t type, const std::string& path) {
  const auto found = object.find(name);
  if (found == object.end() || found->type() != type) damaged(path, "its header is not complete");
  return *found;
}

void check_origin(const SortedJson& saved, const Json& here, const std::string& path) {
  for (const auto& [name, value] : here.items()) {
    const auto found = saved.find(name);
    if (found != saved.end() && print(value) == found->dump(-1, ' ', false, SortedJson::error_handler_t::replace)) continue;
    if (name == "driver") {
      fail(Code::invalid_argument,
           "the conversation '{}' was saved with another driver, or by another build of this program; read its text again", path);
    }
    fail(Code::invalid_argument, "the conversation '{}' was saved with another {} ({}; here {}); its text would go on differently", path,
         name, found == saved.end() ? std::string("none") : shown(*found), print(value));
  }
}

Conversation parse(const SortedJson& header, const Engine::State& engine, const std::string& path) {
  using Type = SortedJson::value_t;
  std::vector<Token> tokens;
  for (const SortedJson& token : member(header, "tokens", Type::array, path)) {
    tokens.push_back(static_cast<Token>(whole(token, engine.model->config.vocabulary - 1, path)));
  }
  if (tokens.size() > engine.model->shape.context) damaged(path, "it has more tokens than its context");
  const std::uint64_t committed = whole(member(header, "committed", Type::number_unsigned, path), tokens.size(), path);
  std::vector<speculation::TokenHistory::Prompt> prompts;
  for (const SortedJson& range : member(header, "prompts", Type::array, path)) {
    if (!range.is_array() || range.size() != 2) damaged(path, "its header has a prompt without two ends");
    const std::uint64_t begin = whole(range[0], committed, path), end = whole(range[1], committed, path);
    if (begin >= end || (!prompts.empty() && begin <= prompts.back().end)) damaged(path, "its prompts are not in order");
    prompts.push_back({begin, end});
  }
  Conversation result;
  result.prompt_end = whole(member(header, "prompt_end", Type::number_unsigned, path), tokens.size(), path);
  result.text = {std::move(tokens), committed, std::move(prompts)};
  result.layers_left_out = member(header, "layers_left_out", Type::boolean, path).get<bool>();
  return result;
}

}  // namespace

void save_conversation(const std::string& path, const Engine::State& engine, const exec::SequenceMemory& pages,
                       const Conversation& conversation) {
  Json prompts = Json::array();
  for (const speculation::TokenHistory::Prompt& prompt : conversation.text.prompts()) prompts.push_back({prompt.begin, prompt.end});
  exec::PageLists lists = pages.lists();
  // A loaded conversation needs one state.
  const std::uint32_t state = pages.states().before(conversation.text.committed_size());
  const std::uint32_t slot = pages.states().at(state).value_or(0);
  lists[exec::MemoryKind::states] = {state > 0 ? std::span(&slot, 1) : std::span<const std::uint32_t>()};
  Json header_document = {{"origin", origin_of(engine)},
                          {"tokens", conversation.text.tokens()},
                          {"committed", conversation.text.committed_size()},
                          {"prompts", std::move(prompts)},
                          {"prompt_end", conversation.prompt_end}};
  exec::for_each_releasing_kind([&](exec::MemoryKind kind, const char* key) { header_document[key] = lists[kind].released; });
  if (engine.passes->cache().has(exec::MemoryKind::states)) header_document["state"] = state;
  header_document["layers_left_out"] = conversation.layers_left_out;
  const std::string header = print(header_document);
  OutputFile file(path);
  Fnv1a hash;
  const auto write = [&](std::span<const std::byte> bytes) {
    add(hash, bytes);
    file.write(bytes);
  };
  file.write(bytes_of(magic));
  file.write(little_endian(version | std::uint64_t{header.size()} << 32));
  write(bytes_of(header));
  exec::KvBytes cache(engine.passes->cache().buffers(), lists, conversation.text.committed_size());
  std::vector<std::byte> layer;
  for (std::uint32_t i = 0; i < engine.model->config.block_count(); ++i) {
    if (is_local(i, *engine.model)) {
      layer.resize(cache.layer_bytes(i));
      cache.read(i, layer);
    } else {
      layer = engine.stages->read_kv(i, conversation.text.committed_size(), lists);
    }
    write(layer);
  }
  file.write(little_endian(hash.value()));
  file.finish();
}

SavedConversation::SavedConversation(const std::string& path, const Engine::State& engine)
    : file_(path), layers_(engine.model->config.block_count()) {
  std::array<std::byte, preamble_bytes> preamble;
  if (file_.size() < preamble.size()) fail(Code::bad_file, "'{}' is no saved conversation: it is too short", path);
  file_.read(0, preamble);
  if (std::memcmp(preamble.data(), magic.data(), magic.size()) != 0) fail(Code::bad_file, "'{}' is no saved conversation", path);
  if (const std::uint64_t found = number_of(std::span(preamble).subspan(8, 4)); found != version) {
    fail(Code::bad_file, "the conversation '{}' has version {} of the format; this program reads version {}", path, found, version);
  }
  const std::uint64_t header_bytes = number_of(std::span(preamble).subspan(12));
  if (header_bytes > most_header_bytes || header_bytes > file_.size() - preamble.size()) damaged(path, "it ends within its header");
  header_.resize(header_bytes);
  file_.read(preamble.size(), std::as_writable_bytes(std::span(header_)));
  header_end_ = preamble.size() + header_bytes;
  const SortedJson header = parse_json_object(header_, "the conversation '" + path + "'");
  check_origin(member(header, "origin", SortedJson::value_t::object, path), origin_of(engine), path);
  conversation_ = parse(header, engine, path);
  const std::uint32_t committed = conversation_.text.committed_size();
  if (engine.passes->cache().has(exec::MemoryKind::states))
    state_ = static_cast<std::uint32_t>(whole(member(header, "state", SortedJson::value_t::number_unsigned, path), committed, path));
  exec::for_each_releasing_kind([&](exec::MemoryKind kind, const char* key) {
    const bool from_state = kind == exec::MemoryKind::recurrent && engine.passes->cache().has(exec::MemoryKind::states);
    const std::uint32_t first = engine.passes->cache().first_page(kind, from_state ? state_ : committed);
    const std::uint64_t released = whole(member(header, key, SortedJson::value_t::number_unsigned, path), committed / KV_PAGE, path);
    if (released > first) damaged(path, "it lacks pages that its text continues from");
    released_[kind] = static_cast<std::uint32_t>(released);
  });
  std::uint64_t bytes = header_end_ + 8;
  for (std::uint32_t layer = 0; layer < layers_; ++layer) bytes += layer_bytes(engine, layer);
  if (file_.size() != bytes) damaged(path, "it has not as many bytes as its tokens need");
  read_layers(engine, [](std::uint32_t, std::span<const std::byte>) {});
}

std::uint64_t SavedConversation::layer_bytes(const Engine::State& engine, std::uint32_t layer) const {
  const exec::KvBuffers& buffers = engine.passes->cache().buffers();
  return buffers.layer_bytes(layer, conversation_.text.committed_size(), released_) + (state_ > 0 ? buffers.state_bytes(layer) : 0);
}

/// Throws after the last visit if the hash is wrong.
template <typename Visit>
void SavedConversation::read_layers(const Engine::State& engine, const Visit& visit) const {
  Fnv1a hash;
  add(hash, bytes_of(header_));
  std::vector<std::byte> layer;
  std::uint64_t at = header_end_;
  for (std::uint32_t i = 0; i < layers_; ++i, at += layer.size()) {
    layer.resize(layer_bytes(engine, i));
    file_.read(at, layer);
    add(hash, layer);
    visit(i, std::span<const std::byte>(layer));
  }
  std::array<std::byte, 8> expected;
  file_.read(at, expected);
  if (number_of(expected) != hash.value()) damaged(file_.path(), "its bytes do not give the sum at its end");
}

void SavedConversation::restore(const Engine::State& engine, exec::Executor& passes) const {
  passes.pages().restore(released_, conversation_.text.committed_size(), state_);
  exec::PageLists lists = passes.pages().lists();
  const std::uint32_t slot = passes.pages().states().at(state_).value_or(0);
  lists[exec::MemoryKind::states] = {state_ > 0 ? std::span(&slot, 1) : std::span<const std::uint32_t>()};
  exec::KvBytes cache(engine.passes->cache().buffers(), lists, conversation_.text.committed_size());
  read_layers(engine, [&](std::uint32_t layer, std::span<const std::byte> bytes) {
    if (is_local(layer, *engine.model)) return cache.write(layer, bytes);
    engine.stages->write_kv(layer, conversation_.text.committed_size(), lists, bytes);
  });
}

}  // namespace skipstone::engine
