// Loads a model that torch.export.save wrote, and runs it on zeros: run_model model.pt2
#include <unfuse/program.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: run_model model.pt2");
  const auto program = unfuse::Program::load(argv[1]);

  std::vector<unfuse::Tensor> inputs;
  for (const unfuse::TensorInfo& info : program.inputs()) {
    std::vector<std::int64_t> sizes;
    // A symbolic size may be anything in its range.
    for (const auto& size : info.sizes) sizes.push_back(size.fixed() ? size.minimum : 2);
    inputs.push_back(unfuse::Tensor::empty(info.dtype, sizes));
    const auto& input = inputs.back();
    std::memset(input.data(), 0, input.numel() * unfuse::dtype_size(info.dtype));
  }

  const std::vector<unfuse::Tensor> outputs = program.run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::cout << program.outputs()[i].name << ":";
    for (const std::int64_t size : outputs[i].sizes()) std::cout << ' ' << size;
    std::cout << '\n';
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
