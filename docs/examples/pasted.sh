# From an answer in a forum: what could be wrong with it?
gcloud run deploy tf-serving --region us-east4 --image tensorflow/serving:latest-gpu \
  --gpu 1 --gpu-type nvidia-l4 --no-gpu-zonal-redundancy \
  --cpu 4 --memory 16Gi --max-concurrency 60 --max-instances 3 \
  --set-env-vars MODEL_NAME=ranker \
  --args --enable_batching=true,--batching_parameters_file=/etc/batching.txt
