// Records dispatches once for many replays, with the fewest barriers that the tracked ranges allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vk/memory.h"

namespace skipstone::vk {

class Device;
class Pipeline;
struct CommandsState;

enum class Access { read, write, read_write };

struct Binding {
  Slice slice;
  Access access = Access::read;
};

struct LabelTime {
  std::string label;
  double microseconds = 0;
};

/// A recorded command buffer that can be submitted again and again, several times in one submission too. Keeps its resources alive except
/// slices and pipelines.
class Commands {
 public:
  ~Commands();
  Commands(Commands&&) noexcept;
  Commands& operator=(Commands&&) noexcept;
  CommandsState& state() const { return *state_; }
  std::uint32_t dispatches() const;
  std::uint32_t barriers() const;  ///< between its commands; not the ones at both ends that every recording has
  /// After a completed submission of a recording with timestamps: device time per dispatch in order, or one entry for the whole; empty
  /// without.
  std::vector<LabelTime> times() const;

 private:
  friend class Recorder;
  explicit Commands(std::unique_ptr<CommandsState> state);
  std::unique_ptr<CommandsState> state_;
};

/// Where a recording takes timestamps, if the device has them. One around every dispatch is for profiles and costs barriers;
/// one around all of it costs nothing to speak of.
enum class Timestamps { none, whole, dispatches };

class Recorder {
 public:
  explicit Recorder(std::shared_ptr<Device> device, Timestamps timestamps = Timestamps::none);
  ~Recorder();

  /// Bindings i of set 0 in order. Throws internal where the pipeline's binding count, push size or a device limit is violated.
  void dispatch(const Pipeline& pipeline, std::span<const Binding> bindings, std::span<const std::byte> push, std::uint32_t x,
                std::uint32_t y, std::uint32_t z, std::string_view label);
  /// Group counts (3 x u32) are read on the device from `arguments`.
  void dispatch_indirect(const Pipeline& pipeline, std::span<const Binding> bindings, std::span<const std::byte> push,
                         const Slice& arguments, std::string_view label);
  void copy(const Slice& from, const Slice& to);
  void fill(const Slice& target, std::uint32_t word);

  /// Dispatches between these two run only where the u32 at `word` (memory of Role::state, at a multiple of 4) is not zero when the device
  /// reaches them; copies and fills always do. Nothing between them may write `word`. Throws internal where the device has no
  /// Caps::conditional_dispatch.
  void begin_condition(const Slice& word);
  void end_condition();

  /// Ends the recording; makes writes visible to the host. The recorder cannot be used afterwards.
  Commands finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Submits in order on the device's queue with a timeline semaphore. Used by one thread at a time; those of a device by several at once.
class Queue {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue();  ///< waits for submissions in flight

  /// Returns the timeline value that is reached when the commands are done. Host writes before the call are visible to them.
  std::uint64_t submit(const Commands& commands);
  /// Several recordings, one after the other, as one submission. The same one may come several times.
  std::uint64_t submit(std::span<const Commands* const> recordings);
  /// Throws device_lost (with the label of the last submission) where the driver gave up.
  void wait(std::uint64_t value);
  /// Whether wait() would return at once. Throws as it does.
  bool done(std::uint64_t value);
  void submit_and_wait(const Commands& commands) { wait(submit(commands)); }
  void submit_and_wait(std::span<const Commands* const> recordings) { wait(submit(recordings)); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Copies host bytes to a slice through staging blocks where it is not mapped; used for loading. Blocks until done.
class Uploader {
 public:
  explicit Uploader(const std::shared_ptr<Device>& device);
  ~Uploader();
  void upload(std::span<const std::byte> bytes, const Slice& target);
  void download(const Slice& source, std::span<std::byte> bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skipstone::vk
