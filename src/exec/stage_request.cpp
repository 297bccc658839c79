#include "exec/stage_request.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/status.h"

namespace skipstone::exec {
namespace {

class Writer {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void add(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void add(std::span<const std::uint32_t> values) {
    add(static_cast<std::uint64_t>(values.size()));
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  ~Reader() = default;

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void get(T& value) { take(&value, sizeof(T)); }
  void get(std::vector<std::uint32_t>& values) {
    std::uint64_t count = 0;
    get(count);
    if (count > bytes_.size() / sizeof(std::uint32_t)) fail(Code::internal, "a message between stages is cut short");
    values.resize(count);
    take(values.data(), count * sizeof(std::uint32_t));
  }
  void finish() const {
    if (!bytes_.empty()) fail(Code::internal, "a message between stages has {} bytes too many", bytes_.size());
  }

 private:
  void take(void* to, std::size_t count) {
    if (count > bytes_.size()) fail(Code::internal, "a message between stages is cut short");
    if (count > 0) std::memcpy(to, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }
  std::span<const std::byte> bytes_;
};

void add(Writer& out, const PageLists& lists) {
  for (const PageList& list : lists.values) out.add(list.pages);
  for_each_releasing_kind([&](MemoryKind kind, const char*) { out.add(lists[kind].released); });
}

void get(Reader& in, SentPages& sent) {
  for (std::vector<std::uint32_t>& pages : sent.pages.values) in.get(pages);
  for_each_releasing_kind([&](MemoryKind kind, const char*) { in.get(sent.released[kind]); });
}

}  // namespace

PageLists SentPages::lists() const {
  return by_kind([&](MemoryKind kind) { return PageList{pages[kind], released[kind]}; });
}

std::vector<SequenceRows> PassRequest::rows() const {
  std::vector<SequenceRows> all;
  for (const Sequence& s : sequences) {
    all.push_back(
        {.pages = s.pages.lists(), .rows = {.tokens = s.tokens, .base = s.base, .kept = s.kept, .parents = s.parents, .window = s.window}});
  }
  return all;
}

static_assert(std::is_trivially_copyable_v<PassSpec> && std::is_trivially_copyable_v<KeyWindow>);

std::vector<std::byte> pass_request(std::uint32_t runner, const PassSpec& spec, std::span<const SequenceRows> sequences) {
  Writer out;
  out.add(runner);
  out.add(spec);
  out.add(static_cast<std::uint32_t>(sequences.size()));
  for (const SequenceRows& sequence : sequences) {
    const Rows& rows = sequence.rows;
    out.add(static_cast<std::uint32_t>(rows.tokens.size()));
    out.add(rows.base);
    out.add(rows.kept);
    out.add(rows.window);
    out.add(rows.parents);
    add(out, sequence.pages);
  }
  return out.take();
}

PassRequest pass_request(std::span<const std::byte> bytes) {
  Reader in(bytes);
  PassRequest request;
  std::uint32_t sequences = 0;
  in.get(request.runner);
  in.get(request.spec);
  in.get(sequences);
  if (sequences > STEP_VERIFY_ROWS) fail(Code::internal, "a message between stages has rows of {} sequences", sequences);
  request.sequences.resize(sequences);
  for (PassRequest::Sequence& s : request.sequences) {
    std::uint32_t count = 0;
    in.get(count);
    if (count > STEP_MAX_ROWS) fail(Code::internal, "a message between stages has {} rows", count);
    s.tokens.resize(count);
    in.get(s.base);
    in.get(s.kept);
    in.get(s.window);
    in.get(s.parents);
    get(in, s.pages);
  }
  in.finish();
  return request;
}

std::vector<std::byte> move_request(std::uint32_t runner, std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages) {
  Writer out;
  out.add(runner);
  out.add(base);
  out.add(path);
  add(out, pages);
  return out.take();
}

MoveRequest move_request(std::span<const std::byte> bytes) {
  Reader in(bytes);
  MoveRequest request;
  in.get(request.runner);
  in.get(request.base);
  in.get(request.path);
  get(in, request.pages);
  in.finish();
  return request;
}

std::vector<std::byte> pages_request(const PagesRequest& request) {
  Writer out;
  out.add(request);
  return out.take();
}

PagesRequest pages_request(std::span<const std::byte> bytes) {
  Reader in(bytes);
  PagesRequest request;
  in.get(request);
  in.finish();
  if (std::ranges::find(memory_kinds, request.kind) == memory_kinds.end())
    fail(Code::internal, "a message between stages has pages of an unknown kind");
  return request;
}

std::vector<std::byte> kv_request(std::uint32_t layer, std::uint32_t positions, const PageLists& pages) {
  Writer out;
  out.add(layer);
  out.add(positions);
  add(out, pages);
  return out.take();
}

KvRequest kv_request(std::span<const std::byte> bytes) {
  Reader in(bytes);
  KvRequest request;
  in.get(request.layer);
  in.get(request.positions);
  get(in, request.pages);
  in.finish();
  return request;
}

std::vector<std::byte> runner_request(std::uint32_t runner) {
  Writer out;
  out.add(runner);
  return out.take();
}

std::vector<std::byte> prepare_request(const SessionPasses& needs, const PageLists& pages) {
  Writer out;
  out.add(needs);
  add(out, pages);
  return out.take();
}

PrepareRequest prepare_request(std::span<const std::byte> bytes) {
  Reader in(bytes);
  PrepareRequest request;
  in.get(request.needs);
  get(in, request.pages);
  in.finish();
  return request;
}

std::uint32_t runner_request(std::span<const std::byte> bytes) {
  Reader in(bytes);
  std::uint32_t runner = 0;
  in.get(runner);
  in.finish();
  return runner;
}

}  // namespace skipstone::exec
