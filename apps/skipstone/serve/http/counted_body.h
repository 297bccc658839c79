// A request body that grows with the received bytes, not with the announced length, and only as far as a budget has room. For
// http_connection.h alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "serve/http/memory_budget.h"

namespace cli::serve {

/// Boost.Beast's Body concept.
struct CountedBody {
  struct value_type {
    std::string text;
    MemoryShare memory;
    std::atomic<std::size_t>* size = nullptr;  ///< received bytes, readable by other threads
  };

  static std::uint64_t size(const value_type& body) { return body.text.size(); }

  class reader {
   public:
    template <bool isRequest, typename Fields>
    explicit reader(boost::beast::http::header<isRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>& length, boost::system::error_code& error) {
      error = {};
      if (length) announced_ = static_cast<std::size_t>(*length);
    }

    /// Error not_enough_memory if the budget refuses.
    template <typename Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      const std::size_t more = boost::asio::buffer_size(buffers), all = body_.text.size() + more;
      if (all > body_.text.capacity()) {
        const std::size_t capacity = std::max(all, std::min(body_.text.capacity() * 2, announced_));
        if (!body_.memory.resize(capacity)) {
          error = make_error_code(boost::system::errc::not_enough_memory);
          return 0;
        }
        body_.text.reserve(capacity);
      }
      for (const auto buffer : boost::beast::buffers_range_ref(buffers))
        body_.text.append(static_cast<const char*>(buffer.data()), buffer.size());
      *body_.size = all;
      return more;
    }

    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
    std::size_t announced_ = std::numeric_limits<std::size_t>::max();
  };
};

}  // namespace cli::serve
