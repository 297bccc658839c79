#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "base/status.h"
#include "vk/recorder.h"

namespace skipstone::vk {
namespace {

constexpr std::uint64_t smallest_chunk = 256u << 10, largest_chunk = 16u << 20;

/// A host-visible buffer in two halves: the host copies one while the device copies the other. Grows on request, up to its limit.
class Halves {
 public:
  Halves(std::shared_ptr<Device> device, Role role) : device_(std::move(device)), role_(role) {}

  void reserve(std::uint64_t bytes) {
    const std::uint64_t chunk = std::clamp(std::bit_ceil(bytes), smallest_chunk, largest_chunk);
    if (chunk <= chunk_) return;
    arena_.reset();  // before the larger one is made
    arena_.emplace(device_, role_, 2 * chunk);
    for (Slice& half : halves_) half = arena_->allocate(chunk);
    chunk_ = chunk;
  }
  std::uint64_t chunk() const { return chunk_; }
  const Slice& half(std::size_t i) const { return halves_[i % 2]; }

 private:
  std::shared_ptr<Device> device_;
  Role role_;
  std::optional<Arena> arena_;
  std::array<Slice, 2> halves_;
  std::uint64_t chunk_ = 0;
};

}  // namespace

struct Uploader::State {
  std::shared_ptr<Device> device;
  Halves staging, readback;
  Queue queue;
  std::array<std::optional<Commands>, 2> running;

  explicit State(const std::shared_ptr<Device>& owner)
      : device(owner), staging(owner, Role::staging), readback(owner, Role::readback), queue(owner) {}

  std::uint64_t submit_copy(std::size_t half, const Slice& from, const Slice& to) {
    Recorder recorder(device);
    recorder.copy(from, to);
    running[half % 2].emplace(recorder.finish());
    return queue.submit(*running[half % 2]);
  }
};

Uploader::Uploader(const std::shared_ptr<Device>& device) : state_(std::make_unique<State>(device)) {}
Uploader::~Uploader() = default;

void Uploader::upload(std::span<const std::byte> bytes, const Slice& target) {
  if (bytes.size() > target.bytes) fail(Code::internal, "{} bytes were to be uploaded to a slice of {} bytes", bytes.size(), target.bytes);
  if (bytes.empty()) return;
  if (target.mapped != nullptr) {
    std::memcpy(target.mapped, bytes.data(), bytes.size());
    return;
  }
  State& state = *state_;
  state.staging.reserve(bytes.size());
  std::array<std::uint64_t, 2> values{};
  std::size_t turn = 0;
  for (std::uint64_t at = 0; at < bytes.size(); ++turn) {
    const std::uint64_t length = std::min<std::uint64_t>(state.staging.chunk(), bytes.size() - at);
    const Slice& half = state.staging.half(turn);
    state.queue.wait(values[turn % 2]);
    std::memcpy(half.mapped, bytes.data() + at, length);
    values[turn % 2] = state.submit_copy(turn, half.part(0, length), target.part(at, length));
    at += length;
  }
  state.queue.wait(std::max(values[0], values[1]));
}

void Uploader::download(const Slice& source, std::span<std::byte> bytes) {
  if (bytes.size() > source.bytes)
    fail(Code::internal, "{} bytes were to be downloaded from a slice of {} bytes", bytes.size(), source.bytes);
  if (bytes.empty()) return;
  if (source.mapped != nullptr) {
    std::memcpy(bytes.data(), source.mapped, bytes.size());
    return;
  }
  State& state = *state_;
  state.readback.reserve(bytes.size());
  const std::uint64_t chunk = state.readback.chunk();
  const std::size_t chunks = static_cast<std::size_t>((bytes.size() + chunk - 1) / chunk);
  const auto length = [&](std::size_t i) { return std::min<std::uint64_t>(chunk, bytes.size() - i * chunk); };
  std::array<std::uint64_t, 2> values{};
  for (std::size_t i = 0; i <= chunks; ++i) {  // chunk i - 1 is copied out while chunk i is in flight
    if (i < chunks) values[i % 2] = state.submit_copy(i, source.part(i * chunk, length(i)), state.readback.half(i).part(0, length(i)));
    if (i == 0) continue;
    state.queue.wait(values[(i - 1) % 2]);
    std::memcpy(bytes.data() + (i - 1) * chunk, state.readback.half(i - 1).mapped, length(i - 1));
  }
}

}  // namespace skipstone::vk
