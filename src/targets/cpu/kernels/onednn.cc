#include "targets/cpu/kernels/onednn.h"

#include <omp.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "unfuse/error.h"

namespace unfuse::cpu::onednn {

class Layout {
 public:
  explicit Layout(const dnnl::memory::desc& description) : desc(description) {}
  dnnl::memory::desc desc;
};

namespace {

using dnnl::memory;

/// Throws our error for oneDNN's.
template <typename Function>
auto translated(const char* what, const Function& function) {
  try {
    return function();
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::kInternal, std::string("oneDNN: ") + what + ": " + error.what());
  }
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// A stream may not be used from two threads at once.
dnnl::stream& own_stream() {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

/// oneDNN takes its thread count from OpenMP's setting of the calling thread.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads) : previous_(omp_get_max_threads()) {
#ifdef UNFUSE_PARALLEL_THREADS
    threads = 1;  // ThreadSanitizer does not understand libgomp
#endif
    omp_set_num_threads(threads);
  }
  ~ScopedThreads() { omp_set_num_threads(previous_); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int previous_;
};

memory::desc vector_desc(std::int64_t size, std::size_t rank) {
  memory::dims sizes(rank, 1);
  sizes.back() = size;
  memory::dims strides(rank, size);
  strides.back() = 1;
  return memory::desc(sizes, memory::data_type::f32, strides);
}

memory::dims sizes_of(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

dnnl::primitive_attr attributes_here() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // Whatever the environment says: float32 means float32.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

dnnl::matmul::primitive_desc matmul_desc(const MatmulProblem& problem, const memory::desc& bias,
                                         const dnnl::primitive_attr& attributes) {
  const memory::desc& source = problem.source->desc;
  const memory::desc& weights = problem.weights->desc;
  const memory::desc& destination = problem.destination->desc;
#if DNNL_VERSION_MAJOR >= 3
  if (!problem.has_bias) return {cpu_engine(), source, weights, destination, attributes};
  return {cpu_engine(), source, weights, bias, destination, attributes};
#else
  const auto desc = problem.has_bias ? dnnl::matmul::desc(source, weights, bias, destination)
                                     : dnnl::matmul::desc(source, weights, destination);
  return {desc, attributes, cpu_engine()};
#endif
}

dnnl::convolution_forward::primitive_desc convolution_desc(const ConvolutionProblem& problem,
                                                           const memory::desc& bias,
                                                           const dnnl::primitive_attr& attributes) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc& source = problem.source->desc;
  const memory::desc& weights = problem.weights->desc;
  const memory::desc& destination = problem.destination->desc;
  memory::dims dilates = problem.dilation;  // oneDNN counts the gaps
  for (auto& dilate : dilates) --dilate;
  const memory::dims& begin = problem.padding_begin;
  const memory::dims& end = problem.padding_end;
#if DNNL_VERSION_MAJOR >= 3
  if (problem.has_bias) {
    return {cpu_engine(), kind,           algorithm, source, weights, bias,
            destination,  problem.stride, dilates,   begin,  end,     attributes};
  }
  return {cpu_engine(),   kind,    algorithm, source, weights,   destination,
          problem.stride, dilates, begin,     end,    attributes};
#else
  using Desc = dnnl::convolution_forward::desc;
  const Desc desc = problem.has_bias ? Desc(kind, algorithm, source, weights, bias, destination,
                                            problem.stride, dilates, begin, end)
                                     : Desc(kind, algorithm, source, weights, destination,
                                            problem.stride, dilates, begin, end);
  return {desc, attributes, cpu_engine()};
#endif
}

template <typename Description>
bool is_reference_code(const Description& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

/// Moves on to the first implementation that is not reference code, if there is one.
template <typename Description>
void prefer_real_code(Description& description) {
  if (!is_reference_code(description)) return;
  Description next = description;
  while (next.next_impl()) {
    if (is_reference_code(next)) continue;
    description = next;
    return;
  }
}

class OnednnPrimitive final : public Primitive {
 public:
  template <typename Operation, typename Description>
  static PrimitivePtr make(const Description& description, bool has_bias, const memory::desc& bias,
                           int threads, bool executable) {
    auto result = std::make_unique<OnednnPrimitive>();
    result->is_reference_ = is_reference_code(description);
    result->source_ = description.src_desc();
    result->weights_ = description.weights_desc();
    result->destination_ = description.dst_desc();
    result->scratch_ = description.scratchpad_desc();
    result->bias_ = bias;
    result->has_bias_ = has_bias;
    result->threads_ = threads;
    if (executable) result->primitive_ = Operation(description);
    return result;
  }

  bool is_reference() const override { return is_reference_; }
  LayoutPtr weights_layout() const override { return std::make_shared<Layout>(weights_); }
  std::size_t scratch_bytes() const override { return scratch_.get_size(); }

  void execute(const void* source, const void* weights, const void* bias, void* destination,
               std::byte* scratch) const override {
    const auto bound = [](const memory::desc& desc, const void* data) {
      return memory(desc, cpu_engine(), const_cast<void*>(data));
    };
    translated("execution failed", [&] {
      const ScopedThreads threads(threads_);
      std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, bound(source_, source)},
                                                   {DNNL_ARG_WEIGHTS, bound(weights_, weights)},
                                                   {DNNL_ARG_DST, bound(destination_, destination)},
                                                   {DNNL_ARG_SCRATCHPAD, bound(scratch_, scratch)}};
      if (has_bias_) arguments.emplace(DNNL_ARG_BIAS, bound(bias_, bias));
      primitive_.execute(own_stream(), arguments);
      own_stream().wait();
    });
  }

 private:
  dnnl::primitive primitive_;
  memory::desc source_, weights_, bias_, destination_, scratch_;
  bool is_reference_ = false;
  bool has_bias_ = false;
  int threads_ = 1;
};

}  // namespace

LayoutPtr strided_layout(const Sizes& sizes, const Sizes& strides) {
  // Strides that are never used still have to look sound.
  Sizes sound = strides;
  std::int64_t dense = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] == 1) sound[dim] = dense;
    dense = std::max(dense, sound[dim] * sizes[dim]);
  }
  return translated("a layout was refused", [&] {
    return std::make_shared<Layout>(memory::desc(sizes, memory::data_type::f32, sound));
  });
}

LayoutPtr any_layout(const Sizes& sizes) {
  return std::make_shared<Layout>(
      memory::desc(sizes, memory::data_type::f32, memory::format_tag::any));
}

std::size_t layout_bytes(const Layout& layout) { return layout.desc.get_size(); }

bool same_layout(const Layout& left, const Layout& right) { return left.desc == right.desc; }

void reorder(const Layout& from_layout, const void* from, const Layout& to_layout, void* to,
             int threads) {
  translated("a reorder failed", [&] {
    const ScopedThreads scoped(threads);
    memory source(from_layout.desc, cpu_engine(), const_cast<void*>(from));
    memory target(to_layout.desc, cpu_engine(), to);
    dnnl::reorder(source, target).execute(own_stream(), source, target);
    own_stream().wait();
  });
}

PrimitivePtr make_matmul(const MatmulProblem& problem, bool executable) {
  return translated("a matrix product was refused", [&] {
    const ScopedThreads threads(problem.threads);
    const memory::dims sizes = sizes_of(problem.destination->desc);
    const memory::desc bias = vector_desc(sizes.back(), sizes.size());
    auto description = matmul_desc(problem, bias, attributes_here());
    prefer_real_code(description);
    return OnednnPrimitive::make<dnnl::matmul>(description, problem.has_bias, bias, problem.threads,
                                               executable);
  });
}

PrimitivePtr make_convolution(const ConvolutionProblem& problem, bool executable) {
  return translated("a convolution was refused", [&] {
    const ScopedThreads threads(problem.threads);
    const memory::desc bias = vector_desc(sizes_of(problem.destination->desc)[1], 1);
    auto description = convolution_desc(problem, bias, attributes_here());
    prefer_real_code(description);
    return OnednnPrimitive::make<dnnl::convolution_forward>(description, problem.has_bias, bias,
                                                            problem.threads, executable);
  });
}

}  // namespace unfuse::cpu::onednn
