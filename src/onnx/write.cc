#include "onnx/write.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "onnx/wire.h"
#include "tensor_io/files.h"
#include "unfuse/error.h"
#include "unfuse/version.h"

namespace unfuse::onnx {
namespace {

// Field numbers of onnx.proto.
namespace field {
enum Entry { kKey = 1, kValue = 2 };
enum Attribute { kAttributeName = 1, kFloat, kInt, kString, kFloats = 7, kInts, kType = 20 };
enum AttributeType { kIsFloat = 1, kIsInt, kIsString, kIsFloats = 6, kIsInts };
enum Tensor { kDims = 1, kDataType, kTensorName = 8, kRawData, kExternalData = 13, kDataLocation };
enum DataLocation { kExternal = 1 };
enum Dimension { kDimValue = 1, kDimParam };
enum Shape { kDim = 1 };
enum TensorType { kElementType = 1, kShape };
enum Type { kTensorType = 1 };
enum Value { kValueName = 1, kValueType };
enum Node { kInput = 1, kOutput, kName, kOpType, kAttribute, kDocString, kNodeMetadata = 9 };
enum Graph { kNode = 1, kGraphName, kInitializer = 5, kInputs = 11, kOutputs, kValueInfo };
enum OperatorSet { kVersion = 2 };
enum Model { kIrVersion = 1, kProducerName, kProducerVersion, kGraph = 7, kOpset, kMetadata = 14 };
}  // namespace field

/// From this version on nodes have metadata; before, what comes near is the doc string.
constexpr int kIrVersionWithNodeMetadata = 10;

/// External data of a tensor begins at a page, so that readers can map it.
constexpr std::uint64_t kPage = 4096;
/// A smaller tensor stays in the model: shapes and scalars are wanted there.
constexpr std::uint64_t kSmallestExternal = 1024;

Message entry(const std::string& key, const std::string& value) {
  Message message;
  message.add_string(field::kKey, key);
  message.add_string(field::kValue, value);
  return message;
}

Message encode(const Attribute& attribute) {
  Message message;
  message.add_string(field::kAttributeName, attribute.name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    message.add_int(field::kInt, *integer);
    message.add_int(field::kType, field::kIsInt);
  } else if (const auto* number = std::get_if<float>(&attribute.value)) {
    message.add_float(field::kFloat, *number);
    message.add_int(field::kType, field::kIsFloat);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.add_string(field::kString, *text);
    message.add_int(field::kType, field::kIsString);
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t value : *ints) message.add_int(field::kInts, value);
    message.add_int(field::kType, field::kIsInts);
  } else {
    for (const float value : std::get<std::vector<float>>(attribute.value)) {
      message.add_float(field::kFloats, value);
    }
    message.add_int(field::kType, field::kIsFloats);
  }
  return message;
}

Message encode(const ModelNode& node, int version) {
  Message message;
  for (const std::string& name : node.inputs) message.add_string(field::kInput, name);
  for (const std::string& name : node.outputs) message.add_string(field::kOutput, name);
  message.add_string(field::kName, node.name);
  message.add_string(field::kOpType, node.op);
  for (const Attribute& attribute : node.attributes) {
    message.add_message(field::kAttribute, encode(attribute));
  }
  const std::string& module_path = node.origin.module_path;
  const std::string& source = node.origin.source;
  if (version >= kIrVersionWithNodeMetadata) {
    if (!module_path.empty()) {
      message.add_message(field::kNodeMetadata, entry("module_path", module_path));
    }
    if (!source.empty()) message.add_message(field::kNodeMetadata, entry("source", source));
  } else if (!module_path.empty() || !source.empty()) {
    const std::string separator = module_path.empty() || source.empty() ? "" : " ";
    message.add_string(field::kDocString, module_path + separator + source);
  }
  return message;
}

Message encode(const ValueInfo& value) {
  Message shape;
  for (const Dim& size : value.sizes) {
    Message dimension;
    if (const auto fixed = size.constant()) {
      dimension.add_int(field::kDimValue, *fixed);
    } else {
      dimension.add_string(field::kDimParam, size.to_string());
    }
    shape.add_message(field::kDim, std::move(dimension));
  }
  Message tensor;
  tensor.add_int(field::kElementType, data_type(value.dtype));
  tensor.add_message(field::kShape, std::move(shape));
  Message type;
  type.add_message(field::kTensorType, std::move(tensor));
  Message message;
  message.add_string(field::kValueName, value.name);
  message.add_message(field::kValueType, std::move(type));
  return message;
}

/// Where in the data file a tensor lies.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< 0: it is in the model
};

/// For each initializer; empty with everything in the model.
using Places = std::vector<Place>;

Places lay_out(const Model& model) {
  Places places;
  std::uint64_t end = 0;
  for (const Initializer& initializer : model.initializers) {
    const std::uint64_t length = packed_bytes(initializer.data);
    if (length < kSmallestExternal) {
      places.emplace_back();
      continue;
    }
    const std::uint64_t offset = (end + kPage - 1) / kPage * kPage;
    places.push_back(Place{offset, length});
    end = offset + length;
  }
  return places;
}

Message encode(const Initializer& initializer, const Place& place, const std::string& data_file) {
  Message message;
  for (const std::int64_t size : initializer.data.sizes()) message.add_int(field::kDims, size);
  message.add_int(field::kDataType, data_type(initializer.data.dtype()));
  message.add_string(field::kTensorName, initializer.name);
  if (place.length == 0) {
    message.add_elements(field::kRawData, initializer.data);
    return message;
  }
  message.add_message(field::kExternalData, entry("location", data_file));
  message.add_message(field::kExternalData, entry("offset", std::to_string(place.offset)));
  message.add_message(field::kExternalData, entry("length", std::to_string(place.length)));
  message.add_int(field::kDataLocation, field::kExternal);
  return message;
}

Message encode(const Model& model, const Places& places, const std::string& data_file) {
  const int version = ir_version(model.opset);
  Message graph;
  for (const ModelNode& node : model.nodes) graph.add_message(field::kNode, encode(node, version));
  graph.add_string(field::kGraphName, model.name);
  for (std::size_t i = 0; i < model.initializers.size(); ++i) {
    const Place place = places.empty() ? Place() : places[i];
    graph.add_message(field::kInitializer, encode(model.initializers[i], place, data_file));
  }
  for (const ValueInfo& value : model.inputs) graph.add_message(field::kInputs, encode(value));
  for (const ValueInfo& value : model.outputs) graph.add_message(field::kOutputs, encode(value));
  for (const ValueInfo& value : model.values) graph.add_message(field::kValueInfo, encode(value));

  Message opset;
  opset.add_int(field::kVersion, model.opset);
  Message message;
  message.add_int(field::kIrVersion, version);
  message.add_string(field::kProducerName, "unfuse");
  message.add_string(field::kProducerVersion, unfuse::version());
  message.add_message(field::kGraph, std::move(graph));
  message.add_message(field::kOpset, std::move(opset));
  for (const auto& [key, value] : model.metadata) {
    message.add_message(field::kMetadata, entry(key, value));
  }
  return message;
}

/// Written beside its place, and put there by commit().
class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : target_(path), replaced_(path), file_(std::fopen(replaced_.path().c_str(), "wb")) {
    if (!file_) fail();
  }

  std::uint64_t position() const { return position_; }

  void write(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
    position_ += bytes.size();
  }

  void pad_to(std::uint64_t offset) {
    constexpr std::byte kZeros[kPage] = {};
    while (position_ < offset) write({kZeros, std::min(kPage, offset - position_)});
  }

  void close() {
    if (std::fclose(file_.release()) != 0) fail();
  }
  tensor_io::ReplacedFile& replaced() { return replaced_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void fail() const { throw tensor_io::WriteError(target_, errno); }

  std::string target_;
  tensor_io::ReplacedFile replaced_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t position_ = 0;
};

void write_data(const Model& model, const Places& places, OutputFile& file) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].length == 0) continue;
    file.pad_to(places[i].offset);
    stream_elements(model.initializers[i].data,
                    [&](std::span<const std::byte> bytes) { file.write(bytes); });
  }
  file.close();
}

void write_message(const Message& message, OutputFile& file) {
  message.write([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.close();
}

}  // namespace

void write_model(const Model& model, const std::string& path, std::uint64_t largest_message) {
  const Message whole = encode(model, {}, "");
  if (whole.size() <= largest_message) {
    OutputFile file(path);
    write_message(whole, file);
    return file.replaced().commit();
  }
  if (tensor_io::is_written_in_place(path)) {
    throw Error(ErrorKind::kInvalidArgument,
                "the model takes " + std::to_string(whole.size()) +
                    " bytes, so that its weights need a file beside it",
                path, "name a file");
  }
  const std::string data_path = path + ".data";
  const Places places = lay_out(model);
  const Message graph = encode(model, places, std::filesystem::path(data_path).filename().string());
  if (graph.size() > largest_message) {
    throw Error(ErrorKind::kUnsupported,
                "the graph takes " + std::to_string(graph.size()) +
                    " bytes without its weights, more than an ONNX file can hold",
                path);
  }
  OutputFile data(data_path);
  OutputFile file(path);
  write_data(model, places, data);
  write_message(graph, file);
  commit_together(data.replaced(), file.replaced());
}

}  // namespace unfuse::onnx
