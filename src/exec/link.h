// What the devices of a pipeline of layers say to each other: messages that go around a ring, from the first stage through all others and
// back to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace skipstone::exec {

/// What a message asks of each stage that it comes to.
enum class Ask : std::uint8_t {
  state,     ///< `bytes` get a line about each stage (engine/stage_host.h)
  load,      ///< its layers, as the request says
  prepare,   ///< make the pipelines that a session's passes need
  pass,      ///< run its layers of a pass over `rows`, which become what goes on
  move,      ///< keep the path of a tree (PassRunner::move)
  resize,    ///< room for more pages
  copy,      ///< a page to another one
  read_kv,   ///< `bytes` become keys and values of a layer, if it is here
  write_kv,  ///< the other way round
  forget,    ///< a runner that there is no more
  end,       ///< nothing comes behind it
  failed,    ///< nothing any more: a stage has failed, with `code` and the sentence in `bytes`
};

struct StageMessage {
  Ask ask = Ask::pass;
  Code code = Code::ok;
  std::int64_t not_before = 0;     ///< of the steady clock: when it has arrived, with what hops are slowed down by
  std::vector<std::byte> request;  ///< what is asked (stage_request.h); stays as it is on its way
  std::vector<float> rows;         ///< of the residual stream, `padded(width)` each
  std::vector<float> cosines;      ///< as PassResults::cosine_sums
  std::vector<std::byte> bytes;    ///< keys and values of a layer, or a sentence
};

StageMessage failure(Code code, const std::string& sentence);

/// One direction between neighbours of the ring. One thread sends, one receives.
class Link {
 public:
  /// Every message takes `delay` longer to arrive, without keeping its sender: what a slower connection would be like.
  explicit Link(std::chrono::microseconds delay) : delay_(delay) {}
  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(StageMessage message);
  /// Waits for the next one. Throws io where none can come any more.
  StageMessage receive();
  /// Whether receive() would return at once.
  bool ready();

 private:
  virtual void put(StageMessage message) = 0;
  virtual StageMessage take() = 0;
  virtual std::optional<StageMessage> try_take() = 0;

  std::chrono::microseconds delay_;
  std::optional<StageMessage> taken_;  ///< and not received
};

/// Between threads of a process.
class QueueLink : public Link {
 public:
  using Link::Link;

 private:
  void put(StageMessage message) override;
  StageMessage take() override;
  std::optional<StageMessage> try_take() override;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<StageMessage> messages_;
};

}  // namespace skipstone::exec
