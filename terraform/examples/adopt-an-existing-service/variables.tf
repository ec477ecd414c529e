variable "project_id" {
  description = "The project of the service and of Trimtab."
  type        = string
}

variable "project_number" {
  description = "The project's number; null: it is looked up."
  type        = string
  default     = null
}

variable "region" {
  description = "The region of both."
  type        = string
  default     = "europe-west1"
}

variable "archive" {
  description = "The whole path of an archive that `make package` made; null: what it wrote last, `build/trimtab.zip`."
  type        = string
  default     = null
}

variable "image" {
  description = "The image of TF Serving with GPU support."
  type        = string
  default     = "docker.io/tensorflow/serving:2.19.1-gpu"
}

variable "model_bucket" {
  description = "The bucket with the models, which is there already; the versions of this one lie below `ranker/`."
  type        = string
}

variable "owner" {
  description = "The e-mail address of the person who gives commands."
  type        = string
}
